// SPDX-License-Identifier: BSD-3-Clause
// Gives kernels access to host memory that the box cannot map, through a mirror at the box.
// Thread-safe.
#ifndef RGPU_CLIENT_MAPPED_HOST_H
#define RGPU_CLIENT_MAPPED_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "client-lib/cuda/objects/object.h"

// Allocates BYTES bytes of page-locked memory in CONTEXT, whose session mirrors all page-locked
// memory (RGPU_MAPPED_HOST=mirror). FLAGS are those of cuMemHostAlloc. mapped_host_release frees
// *MEMORY.
CUresult mapped_host_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory);
// Creates the box's mirror of the page-locked or registered allocation that contains MEMORY, unless
// the GPU has that memory in its address space already. The library sends the contents before the
// next work. Returns CUDA_ERROR_NOT_SUPPORTED if the memory's session has no mirrors.
CUresult mapped_host_open(const void *memory);
// Removes the mirror of MEMORY, if there is one. Called before page-locked memory is freed, or if
// REGISTERED before the memory is unregistered. Returns true if this function has freed the memory
// and set *RESULT, false if the caller still has to.
bool mapped_host_release(void *memory, bool registered, CUresult *result);

#endif
