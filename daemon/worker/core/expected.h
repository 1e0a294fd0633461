// SPDX-License-Identifier: BSD-3-Clause
// Counts the messages of the client that the GPU waits for: data of a push, the end of a host
// function, the signal of a stream semaphore. While the count is above zero, some thread has to
// read the link (relief.c). Thread-safe.
#ifndef RGPU_WORKER_EXPECTED_H
#define RGPU_WORKER_EXPECTED_H

#include <stdbool.h>

void expected_add(void);
void expected_came(void);
bool expected_any(void);
// Registers RISES, which is called after each expected_add(). Call before requests are served.
void expected_watch(void (*rises)(void));

#endif
