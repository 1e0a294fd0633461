// SPDX-License-Identifier: BSD-3-Clause
// Copies from the GPU over a byte stream (pull.c).
#ifndef RGPU_WORKER_PULL_H
#define RGPU_WORKER_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

int pull_start(void);
void pull_deliver(void); // until pulls whose copies are done have been sent
// Returns true if a pull from memory of CONTEXT has not ended. Thread-safe.
bool pull_any_in(CUcontext context);
// The place of a copy among all from the GPU, small or not: a later one to the same memory must
// arrive later.
uint64_t pull_number(void);
// Returns true if the GPU has finished a pull before NUMBER whose data are not all sent. Any
// thread.
bool pull_unsent_before(uint64_t number);

#endif
