// SPDX-License-Identifier: BSD-3-Clause
// The blocks of pushes that are coming (push_blocks.c). Both are for the thread that reads the
// link.
#ifndef RGPU_WORKER_PUSH_BLOCKS_H
#define RGPU_WORKER_PUSH_BLOCKS_H

#include <stdbool.h>

#include "daemon/worker/request/serve.h"

bool push_blocks_coming(void);
// Waits for the incoming blocks and starts their copies. Called before any later request is served
// and before a wait for more requests.
void push_blocks_finish(struct serve *serve);

#endif
