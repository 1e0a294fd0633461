// SPDX-License-Identifier: BSD-3-Clause
// Which descriptions of multiprocessors the client was given. A driver takes one as it is, with what it keeps for itself
// in it, so that a client's own could lead it anywhere in the worker's memory.
#ifndef RGPU_WORKER_GREEN_RESOURCES_H
#define RGPU_WORKER_GREEN_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Any thread may call. Of many different ones the oldest are forgotten, and are then as if they had not been given.
void resources_given(const CUdevResource *resources, size_t count);
// Whether each of them was given, to the last byte.
bool resources_are_given(const CUdevResource *resources, size_t count);

#endif
