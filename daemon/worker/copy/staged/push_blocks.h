// SPDX-License-Identifier: BSD-3-Clause
// Blocks of pushes that are being received. For the thread that reads the link.
#ifndef RGPU_WORKER_PUSH_BLOCKS_H
#define RGPU_WORKER_PUSH_BLOCKS_H

#include <stdbool.h>

#include "daemon/worker/request/serve.h"

// Returns true if a block is being received.
bool push_blocks_coming(void);
// Waits for these blocks and queues their GPU copies. Must be called before a later request is
// served, and before waiting for requests.
void push_blocks_finish(struct serve *serve);

#endif
