// SPDX-License-Identifier: BSD-3-Clause
// Small pulls: small copies from the GPU over a byte stream.
#ifndef RGPU_WORKER_SMALL_PULL_H
#define RGPU_WORKER_SMALL_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// Starts the thread. Must be called before requests are served. Returns 0 or -errno.
int small_pull_start(void);
// Sends the data of those that the GPU has completed, before anything that the caller sends.
// Thread-safe.
void small_pull_deliver(void);
// Returns true if a small pull of CONTEXT is not sent yet. Thread-safe.
bool small_pull_any_in(CUcontext context);
// Sends small pulls with a number below NUMBER (pull.h), which may be to the same memory.
void small_pull_deliver_before(uint64_t number);

#endif
