// SPDX-License-Identifier: BSD-3-Clause
// Exchanges words between the program and running kernels: while GPUs may be at work, a thread of
// the library compares the small host memory that the box mirrors (compared_memory.h). So a kernel
// sees words that the program writes without a call, and a polling program sees words of a kernel.
#ifndef RGPU_CLIENT_POLLED_MEMORY_H
#define RGPU_CLIENT_POLLED_MEMORY_H

// Starts the thread. Called when such memory has been added. Idempotent and thread-safe.
void polled_begin(void);
// Wakes the thread. Called when work is sent that may use such memory. Thread-safe.
void polled_work_sent(void);

#endif
