// SPDX-License-Identifier: BSD-3-Clause
// Allocates managed memory in pages of its own, with a mirror. device_memory_give_pages frees it.
#ifndef RGPU_CLIENT_MANAGED_BLOCK_H
#define RGPU_CLIENT_MANAGED_BLOCK_H

#include <stddef.h>

#include "client-lib/cuda/objects/addresses.h"

// Allocates SIZE bytes in the current context and describes them in *BLOCK. The caller enters BLOCK
// into the address book.
CUresult managed_block_make(size_t size, struct allocation *block);

#endif
