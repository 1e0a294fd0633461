// SPDX-License-Identifier: BSD-3-Clause
// Allocates managed memory in pages of its own, with a mirror.
#ifndef RGPU_CLIENT_MANAGED_BLOCK_H
#define RGPU_CLIENT_MANAGED_BLOCK_H

#include <stddef.h>

#include "client-lib/cuda/objects/addresses.h"

// Allocates SIZE bytes in the current context and describes them in *BLOCK. The caller enters BLOCK
// into the address book.
CUresult managed_block_make(size_t size, struct allocation *block);
// Frees the block with its mirror, or keeps both for the next block of this size. The caller has
// removed BLOCK from the address book.
CUresult managed_block_free(const struct allocation *block);

#endif
