// SPDX-License-Identifier: BSD-3-Clause
// Page-locked host memory.
#ifndef RGPU_CLIENT_PAGE_LOCKED_H
#define RGPU_CLIENT_PAGE_LOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"

// Memory that the program owns.
CUresult page_locked_register(const struct object *context, void *memory, size_t bytes,
                              unsigned int flags);
CUresult page_locked_unregister(void *memory);

// Reserves addresses that this process does not use, and that the worker hardly uses. The caller
// unmaps them. NULL: none are left.
void *page_locked_hold_place(size_t size);
// Enters the GPU's addresses, from PLACE on, of memory that the box has mapped or mirrored there.
// CUDA_ERROR_ALREADY_MAPPED: this process uses the addresses for something else.
CUresult page_locked_enter_elsewhere(const struct allocation *allocation, uint64_t place,
                                     size_t size, bool mirrored);
// Returns the size of whole pages that hold SIZE bytes.
size_t page_locked_round(size_t size);
// Allocates the memory of ALLOCATION, whose size, flags, session and context are set. The caller
// enters it in the address book.
CUresult page_locked_make(struct allocation *allocation);
CUresult page_locked_unmake(const struct allocation *allocation);

#endif
