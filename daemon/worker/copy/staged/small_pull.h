// SPDX-License-Identifier: BSD-3-Clause
// Small copies from the GPU over a byte stream (small_pull.c).
#ifndef RGPU_WORKER_SMALL_PULL_H
#define RGPU_WORKER_SMALL_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

int small_pull_start(void);
// Sends the data of those that the GPU is done with, ahead of what the caller sends. Any thread,
// also one of the driver's.
void small_pull_deliver(void);
// Returns true if a small pull of CONTEXT was not sent. Thread-safe.
bool small_pull_any_in(CUcontext context);
// Delivers the small pulls that were requested before the copy of that number (pull.h), which may
// be for the same memory.
void small_pull_deliver_before(uint64_t number);

#endif
