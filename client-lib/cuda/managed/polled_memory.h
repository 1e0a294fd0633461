// SPDX-License-Identifier: BSD-3-Clause
// Exchanges words between the program and running kernels: a thread of the library compares small
// host memory that the box mirrors (compared_memory.h) while GPUs may be at work, so that a kernel
// sees a word that the host writes without a call, and a host that polls sees a kernel's.
#ifndef RGPU_CLIENT_POLLED_MEMORY_H
#define RGPU_CLIENT_POLLED_MEMORY_H

// Called when the first such memory has been added. Idempotent and thread-safe.
void polled_begin(void);
// Called when work is sent that may use such memory. Thread-safe.
void polled_work_sent(void);

#endif
