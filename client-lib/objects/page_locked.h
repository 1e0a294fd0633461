// SPDX-License-Identifier: BSD-3-Clause
// Page-locked host memory.
#ifndef RGPU_CLIENT_PAGE_LOCKED_H
#define RGPU_CLIENT_PAGE_LOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/objects/addresses.h"
#include "client-lib/objects/object.h"

CUresult page_locked_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory);
// Memory of the program's own.
CUresult page_locked_register(const struct object *context, void *memory, size_t bytes,
                              unsigned int flags);
// Ends the box's use of it. REGISTERED: it is the program's, else it is unmapped.
CUresult page_locked_release(void *memory, bool registered);

// Addresses that are nothing's here, and hardly a worker's, held until they are unmapped; NULL: there are none.
void *page_locked_hold_place(size_t size);
// What the box has mapped, or mirrors, elsewhere has addresses of its own on the GPU, those from PLACE on, which must be
// nothing else here. CUDA_ERROR_ALREADY_MAPPED: they are.
CUresult page_locked_enter_elsewhere(const struct allocation *allocation, uint64_t place,
                                     size_t size, bool mirrored);
// A number for memory that the box is to know; 0: all have been used.
uint32_t page_locked_new_region(void);

#endif
