// SPDX-License-Identifier: BSD-3-Clause
// Sends what the client must have before it learns that work of the GPU is done (deliver.c).
#ifndef RGPU_WORKER_DELIVER_H
#define RGPU_WORKER_DELIVER_H

// Everything that a call which learned of finished GPU work must not run ahead of. Any thread.
void deliver_all(void);
// Watches contexts. Called before the movers watch them, since these fail the copies of a context
// that ends.
void deliver_prepare(void);

#endif
