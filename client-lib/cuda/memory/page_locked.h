// SPDX-License-Identifier: BSD-3-Clause
// Page-locked host memory, and the addresses at which the worker maps it. Any thread may call.
#ifndef RGPU_CLIENT_PAGE_LOCKED_H
#define RGPU_CLIENT_PAGE_LOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"

// Register and unregister BYTES bytes of memory that the program has allocated itself, as
// cuMemHostRegister and cuMemHostUnregister do.
CUresult page_locked_register(const struct object *context, void *memory, size_t bytes,
                              unsigned int flags);
CUresult page_locked_unregister(void *memory);

// Reserves SIZE bytes of addresses that this process does not use, and that the worker probably
// does not use either. The caller unmaps them. Returns NULL if there are none.
void *page_locked_hold_place(size_t size);
// Enters the GPU's addresses of ALLOCATION into the address book: SIZE bytes from PLACE on, where
// the box has mapped the memory or, if MIRRORED, made a mirror. Returns CUDA_ERROR_ALREADY_MAPPED
// if this process uses these addresses for something else.
CUresult page_locked_enter_elsewhere(const struct allocation *allocation, uint64_t place,
                                     size_t size, bool mirrored);
// Returns SIZE bytes rounded up to whole pages of 4096 bytes.
size_t page_locked_round(size_t size);
// Allocates memory for ALLOCATION, in which the caller has set size, host_flags, session and
// context, and sets its addresses and region. The caller enters ALLOCATION into the address book.
CUresult page_locked_make(struct allocation *allocation);
// Frees memory of page_locked_make. The caller has removed ALLOCATION from the address book.
CUresult page_locked_unmake(const struct allocation *allocation);

#endif
