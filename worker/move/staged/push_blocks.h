// SPDX-License-Identifier: BSD-3-Clause
// The blocks of pushes that are coming (push_blocks.c). Both are for the thread that reads the link.
#ifndef RGPU_WORKER_PUSH_BLOCKS_H
#define RGPU_WORKER_PUSH_BLOCKS_H

#include <stdbool.h>

#include "worker/serve.h"

bool push_blocks_coming(void);
// Waits for them, and has them copied. Before anything else that came behind them is served, and before a wait for more.
void push_blocks_finish(struct serve *serve);

#endif
