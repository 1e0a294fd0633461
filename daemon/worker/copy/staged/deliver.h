// SPDX-License-Identifier: BSD-3-Clause
// Sends everything that the client must receive before it learns that work of the GPU is complete.
#ifndef RGPU_WORKER_DELIVER_H
#define RGPU_WORKER_DELIVER_H

// Sends it. Must be called after the completion is detected and before it is reported. Thread-safe.
void deliver_all(void);
// Watches contexts. Must be called before the movers watch them, which fail the copies of an ending
// context.
void deliver_prepare(void);

#endif
