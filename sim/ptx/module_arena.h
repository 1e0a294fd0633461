// SPDX-License-Identifier: BSD-3-Clause
// Arena: allocations that are freed together, with the compiled module or at the end of a
// compilation.
#ifndef RGPU_SIM_PTX_MODULE_ARENA_H
#define RGPU_SIM_PTX_MODULE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_chunk *chunks;
    size_t total;
};

void *arena_alloc(struct arena *arena, size_t size); // zeroed; NULL if memory is exhausted
void arena_free(struct arena *arena);

#endif
