// SPDX-License-Identifier: BSD-3-Clause
// A record of the link, from its check to its answer (pipeline.c).
#ifndef RGPU_WORKER_PIPELINE_H
#define RGPU_WORKER_PIPELINE_H

#include "worker/serve.h"

// Executes the record in serve->record and answers it. False: the record cannot be right.
bool serve_record(struct serve *serve, uint32_t size);
// Sees to it that the blocks of pushes which the link has begun to bring are copied: by the thread that reads it, before it
// serves anything else that came behind them, and before it waits for more.
void serve_what_came(struct serve *serve);
// Its row in the table, without executing it; NULL: it cannot be right.
const struct serve_entry *serve_check(struct serve *serve, uint32_t size);

#endif
