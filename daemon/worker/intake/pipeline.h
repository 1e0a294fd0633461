// SPDX-License-Identifier: BSD-3-Clause
// Serves one record of the link, from its check to its answer (pipeline.c).
#ifndef RGPU_WORKER_PIPELINE_H
#define RGPU_WORKER_PIPELINE_H

#include "daemon/worker/request/serve.h"

// Executes the record in serve->record and answers it. Returns false if the record is invalid.
bool serve_record(struct serve *serve, uint32_t size);
// Starts the GPU copies of push blocks that the link has received. The thread that reads the link
// calls this before it serves later requests, and before it waits for more.
void serve_what_came(struct serve *serve);
// Returns the table row of the record without executing it; NULL: the record is invalid.
const struct serve_entry *serve_check(struct serve *serve, uint32_t size);

#endif
