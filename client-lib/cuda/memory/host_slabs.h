// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory that programs allocate. Small allocations are pieces of slabs, which the box
// maps as a whole. A piece needs no mapping, no descriptor and no request of its own, so that a
// program may have as many as fit into memory. Any thread may call.
#ifndef RGPU_CLIENT_HOST_SLABS_H
#define RGPU_CLIENT_HOST_SLABS_H

#include <stddef.h>

#include "client-lib/cuda/objects/object.h"

CUresult host_memory_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory);
// Waits for all work that may use MEMORY, and frees it.
CUresult host_memory_free(void *memory);

#endif
