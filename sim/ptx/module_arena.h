// SPDX-License-Identifier: BSD-3-Clause
// Implements an arena: memory allocated in pieces and freed at once, with a compiled module or at
// the end of a compilation.
#ifndef RGPU_SIM_PTX_MODULE_ARENA_H
#define RGPU_SIM_PTX_MODULE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_chunk *chunks;
    size_t total;
};

void *arena_alloc(struct arena *arena, size_t size); // zeroed; NULL when out of memory
void arena_free(struct arena *arena);

#endif
