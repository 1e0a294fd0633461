// SPDX-License-Identifier: BSD-3-Clause
// Small pieces of managed memory, many of which share a block: a program may have thousands, and the kernel keeps only
// so many mappings. Any thread may call.
#ifndef RGPU_CLIENT_MANAGED_SLABS_H
#define RGPU_CLIENT_MANAGED_SLABS_H

#include <stdbool.h>
#include <stddef.h>

#include "client-lib/objects/addresses.h"

enum { SLAB_PIECE_MAX = 256 * 1024 };

// SIZE bytes of the current context, at most SLAB_PIECE_MAX, as the address book is to know them.
CUresult slab_take(size_t size, struct allocation *piece);
// Of which the GPU no longer makes use.
void slab_give(const struct allocation *piece);

#endif
