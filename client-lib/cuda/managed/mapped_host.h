// SPDX-License-Identifier: BSD-3-Clause
// Gives kernels access to host memory that the box cannot share, through a mirror at the box.
// Thread-safe.
#ifndef RGPU_CLIENT_MAPPED_HOST_H
#define RGPU_CLIENT_MAPPED_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "client-lib/cuda/objects/object.h"

// Allocates page-locked memory in a session that mirrors all of it (RGPU_MAPPED_HOST=mirror).
CUresult mapped_host_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory);
// Creates the box's mirror of the page-locked or registered memory that holds MEMORY, unless the
// GPU has that memory. The mirror gets the contents before the next work. Returns
// CUDA_ERROR_NOT_SUPPORTED if the memory's session has no mirrors.
CUresult mapped_host_open(const void *memory);
// Called before page-locked memory is freed, or unregistered if REGISTERED. Ends its mirror, if it
// has one. Returns true if the memory is gone and *RESULT is set, false if the caller has to free
// it.
bool mapped_host_release(void *memory, bool registered, CUresult *result);

#endif
