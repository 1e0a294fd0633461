// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory that programs allocate. Small allocations are parts of larger blocks (slabs),
// each of which the box maps as a whole. Such a part needs no mapping, file descriptor or request
// of its own, so their number is limited only by memory. Any thread may call.
#ifndef RGPU_CLIENT_HOST_SLABS_H
#define RGPU_CLIENT_HOST_SLABS_H

#include <stddef.h>

#include "client-lib/cuda/objects/object.h"

// Allocates BYTES bytes in CONTEXT with FLAGS of cuMemHostAlloc. host_memory_free frees *MEMORY.
CUresult host_memory_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory);
// Waits until all work that may use MEMORY is done, and frees MEMORY.
CUresult host_memory_free(void *memory);

#endif
