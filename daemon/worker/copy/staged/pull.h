// SPDX-License-Identifier: BSD-3-Clause
// Pulls: copies from the GPU over a byte stream.
#ifndef RGPU_WORKER_PULL_H
#define RGPU_WORKER_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// Starts the thread. Must be called before requests are served. Returns 0 or -errno.
int pull_start(void);
void pull_deliver(void); // waits until pulls whose GPU copies are done have been sent
// Returns true if a pull from memory of CONTEXT is in progress. Thread-safe.
bool pull_any_in(CUcontext context);
// Returns the next number in the order of all copies from the GPU, including small ones. Copies to
// the same memory must arrive in this order.
uint64_t pull_number(void);
// Returns true if a pull with a number below NUMBER is complete on the GPU but not sent completely.
// Thread-safe.
bool pull_unsent_before(uint64_t number);

#endif
