// SPDX-License-Identifier: BSD-3-Clause
// A record of the link, from its check to its answer (pipeline.c).
#ifndef RGPU_WORKER_PIPELINE_H
#define RGPU_WORKER_PIPELINE_H

#include "daemon/worker/request/serve.h"

// Executes the record in serve->record and answers it. False: the record cannot be right.
bool serve_record(struct serve *serve, uint32_t size);
// Starts the copies of blocks of pushes that the link has begun to bring. Called by the thread that
// reads the link, before it serves later requests and before it waits for more.
void serve_what_came(struct serve *serve);
// Its row in the table, without executing it; NULL: it cannot be right.
const struct serve_entry *serve_check(struct serve *serve, uint32_t size);

#endif
