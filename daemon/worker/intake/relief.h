// SPDX-License-Identifier: BSD-3-Clause
// Reads the link while the thread that should read is stuck in the driver. See relief.c.
#ifndef RGPU_WORKER_RELIEF_H
#define RGPU_WORKER_RELIEF_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"

int relief_start(void);
// Surround the execution of a request by the thread that takes requests. relief_executed() returns
// false if another thread takes them by then.
void relief_executing(struct serve *serve);
bool relief_executed(struct serve *serve);
// For a request that may wait but hardly ever does: lets another thread take requests if this one
// does wait. Returns false if the thread must hand over the link beforehand.
bool relief_linger(struct serve *serve);
// Returns true if another thread reads the link for the calling thread.
bool relief_reads(void);
// Returns the next request that was read for the calling thread; 0: the thread has to read the link
// itself.
uint32_t relief_take(struct serve *serve);

#endif
