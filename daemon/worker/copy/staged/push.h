// SPDX-License-Identifier: BSD-3-Clause
// Copies to the GPU over a byte stream (push.c).
#ifndef RGPU_WORKER_PUSH_H
#define RGPU_WORKER_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/copy/parts/staging.h"
#include "worker_serve.h"

int push_start(void);
// Returns true if that push has begun, so that its blocks can be served.
bool push_has_begun(uint32_t job);
// The block goes to the GPU, or back where the push is not what it should be.
void push_take_block(struct serve *serve, struct block *block, const struct args_push_block *args);
// Gives a staging block back once the copy from it in STREAM is over, or at once if the request has
// failed.
void push_see_off(struct serve *serve, struct block *block, CUstream stream);

#endif
