// SPDX-License-Identifier: BSD-3-Clause
// Managed memory in pages of its own, with its mirror.
#ifndef RGPU_CLIENT_MANAGED_BLOCK_H
#define RGPU_CLIENT_MANAGED_BLOCK_H

#include <stddef.h>

#include "client-lib/objects/addresses.h"

// Of the current context. The address book does not know it.
CUresult managed_block_make(size_t size, struct allocation *block);
CUresult managed_block_free(const struct allocation *block);

#endif
