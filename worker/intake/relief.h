// SPDX-License-Identifier: BSD-3-Clause
// Reading on while the thread that reads is stuck in the driver. See relief.c.
#ifndef RGPU_WORKER_RELIEF_H
#define RGPU_WORKER_RELIEF_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/serve.h"

int relief_start(void);
// Around the execution of a request by the thread that takes them; false at its end: another thread
// takes them now.
void relief_executing(struct serve *serve);
bool relief_executed(struct serve *serve);
// The request may wait, but hardly ever does: should it, another thread takes requests then. False: it
// is to hand over beforehand.
bool relief_linger(struct serve *serve);
// Whether another thread reads the link for that thread, who asks.
bool relief_reads(void);
// The next request of those that were read for that thread; 0: the link is its to read.
uint32_t relief_take(struct serve *serve);

#endif
