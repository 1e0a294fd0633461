// SPDX-License-Identifier: BSD-3-Clause
// Counts messages of the client for which the GPU waits: data of a push, the end of a host
// function, the signal of a semaphore. While there are any, a thread must read the link (relief.c).
// Thread-safe.
#ifndef RGPU_WORKER_EXPECTED_H
#define RGPU_WORKER_EXPECTED_H

#include <stdbool.h>

// Add a message, remove one that has arrived, and query if there are any.
void expected_add(void);
void expected_came(void);
bool expected_any(void);
// Registers RISES, which is called after each expected_add(). Must be called before requests are
// served.
void expected_watch(void (*rises)(void));

#endif
