// SPDX-License-Identifier: BSD-3-Clause
// Page-locked host memory.
#ifndef RGPU_CLIENT_PAGE_LOCKED_H
#define RGPU_CLIENT_PAGE_LOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/objects/addresses.h"
#include "client-lib/objects/object.h"

// Memory of the program's own.
CUresult page_locked_register(const struct object *context, void *memory, size_t bytes,
                              unsigned int flags);
CUresult page_locked_unregister(void *memory);

// Addresses that are nothing's here, and hardly a worker's, held until they are unmapped; NULL: there are none.
void *page_locked_hold_place(size_t size);
// What the box has mapped, or mirrors, elsewhere has addresses of its own on the GPU, those from PLACE on, which must be
// nothing else here. CUDA_ERROR_ALREADY_MAPPED: they are.
CUresult page_locked_enter_elsewhere(const struct allocation *allocation, uint64_t place,
                                     size_t size, bool mirrored);
// Returns the size of whole pages that hold SIZE bytes.
size_t page_locked_round(size_t size);
// Memory of its own for what has size, flags, session and context set. The address book does not know it.
CUresult page_locked_make(struct allocation *allocation);
CUresult page_locked_unmake(const struct allocation *allocation);

#endif
