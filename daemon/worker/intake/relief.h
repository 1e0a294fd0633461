// SPDX-License-Identifier: BSD-3-Clause
// Reads the link while the thread that should read it is blocked in the driver; see relief.c.
#ifndef RGPU_WORKER_RELIEF_H
#define RGPU_WORKER_RELIEF_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"

// Starts the thread. Returns 0 or -errno.
int relief_start(void);
// Must surround the execution of a request. relief_executed() returns false if another thread reads
// requests now.
void relief_executing(struct serve *serve);
bool relief_executed(struct serve *serve);
// For a request that seldom waits: the thread keeps the link, and another thread takes over if the
// request does wait. Returns false if the thread must pass the link on before.
bool relief_linger(struct serve *serve);
// Returns true if another thread reads the link for the calling one.
bool relief_reads(void);
// Returns the size of the next request that was read for the calling thread; 0: the thread must
// read the link itself.
uint32_t relief_take(struct serve *serve);

#endif
