// SPDX-License-Identifier: BSD-3-Clause
// Resource descriptions (CUdevResource) that were returned to the client. The driver trusts private
// data in them, so the worker accepts from the client only descriptions that it has returned
// itself.
#ifndef RGPU_WORKER_GREEN_RESOURCES_H
#define RGPU_WORKER_GREEN_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Records returned descriptions. If there are many different ones, the oldest are forgotten.
// Thread-safe.
void resources_given(const CUdevResource *resources, size_t count);
// Returns true if each of them was returned, byte by byte.
bool resources_are_given(const CUdevResource *resources, size_t count);

#endif
