// SPDX-License-Identifier: BSD-3-Clause
// Allocates managed memory in pages of its own, with a mirror.
#ifndef RGPU_CLIENT_MANAGED_BLOCK_H
#define RGPU_CLIENT_MANAGED_BLOCK_H

#include <stddef.h>

#include "client-lib/cuda/objects/addresses.h"

// Allocates in the current context. Does not enter the block into the address book.
CUresult managed_block_make(size_t size, struct allocation *block);
CUresult managed_block_free(const struct allocation *block);

#endif
