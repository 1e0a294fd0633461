// SPDX-License-Identifier: BSD-3-Clause
// Allocates small pieces of managed memory, many from one block (managed_block.h), because a
// program may have thousands and the kernel limits the number of mappings. Thread-safe.
#ifndef RGPU_CLIENT_MANAGED_SLABS_H
#define RGPU_CLIENT_MANAGED_SLABS_H

#include <stdbool.h>
#include <stddef.h>

#include "client-lib/cuda/objects/addresses.h"

enum { SLAB_PIECE_MAX = 256 * 1024 }; // bytes

// Allocates SIZE bytes, at most SLAB_PIECE_MAX, in the current context and describes them in
// *PIECE. The caller enters PIECE into the address book.
CUresult slab_take(size_t size, struct allocation *piece);
// Frees a piece. The GPU must have completed all work that uses the piece.
void slab_give(const struct allocation *piece);

#endif
