// SPDX-License-Identifier: BSD-3-Clause
// Pushes: copies to the GPU over a byte stream.
#ifndef RGPU_WORKER_PUSH_H
#define RGPU_WORKER_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/copy/parts/staging.h"
#include "worker_serve.h"

// Starts the thread. Must be called before requests are served. Returns 0 or -errno.
int push_start(void);
// Returns true if push JOB has begun, so that its blocks can be processed.
bool push_has_begun(uint32_t job);
// Queues the GPU copy of a received block, or gives the block back if the push is invalid.
void push_take_block(struct serve *serve, struct block *block, const struct args_push_block *args);
// Gives a staging block back when the GPU copy from it in STREAM is complete, or at once if the
// request has failed.
void push_see_off(struct serve *serve, struct block *block, CUstream stream);

#endif
