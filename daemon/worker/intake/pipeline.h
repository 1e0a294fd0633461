// SPDX-License-Identifier: BSD-3-Clause
// Serves one record of the link: check, execution, reply.
#ifndef RGPU_WORKER_PIPELINE_H
#define RGPU_WORKER_PIPELINE_H

#include "daemon/worker/request/serve.h"

// Executes the record in serve->record and replies. Returns false if the record is invalid.
bool serve_record(struct serve *serve, uint32_t size);
// Queues the GPU copies of push blocks that were received. Must be called by the thread that reads
// the link before it serves a later request or waits for one.
void serve_what_came(struct serve *serve);
// Returns the table row of the record without executing it; NULL if the record is invalid.
const struct serve_entry *serve_check(struct serve *serve, uint32_t size);

#endif
