// SPDX-License-Identifier: BSD-3-Clause
// The descriptions of multiprocessors that the client was given. A driver takes one as it is, with
// private data in it, so that a client's own could lead it anywhere in the worker's memory.
#ifndef RGPU_WORKER_GREEN_RESOURCES_H
#define RGPU_WORKER_GREEN_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Records that the client was given these descriptions. If there are many different ones, the
// oldest are forgotten, as if they had not been given. Any thread may call.
void resources_given(const CUdevResource *resources, size_t count);
// Returns true if each of them was given, byte by byte.
bool resources_are_given(const CUdevResource *resources, size_t count);

#endif
