// SPDX-License-Identifier: BSD-3-Clause
// Gives kernels access to host memory that the box cannot share, through a mirror at the box.
// Thread-safe.
#ifndef RGPU_CLIENT_MAPPED_HOST_H
#define RGPU_CLIENT_MAPPED_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "client-lib/cuda/objects/object.h"

// Allocates page-locked memory in a session that mirrors it.
CUresult mapped_host_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory);
// Creates the box's mirror of the registered memory that holds MEMORY, unless one exists. Returns
// CUDA_ERROR_NOT_SUPPORTED if the memory's session has no mirrors.
CUresult mapped_host_open(const void *memory);
// Frees page-locked memory, or unregisters it if REGISTERED, and sets *RESULT. Returns false if the
// box has no mirror of it.
bool mapped_host_release(void *memory, bool registered, CUresult *result);

#endif
