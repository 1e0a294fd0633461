// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ptx/module_arena.h"

#include <stdlib.h>

struct arena_chunk {
    struct arena_chunk *next;
    size_t size, used;
    char data[] __attribute__((aligned(16)));
};

#define CHUNK_BYTES (64u * 1024)
#define ARENA_LIMIT (2ull << 30)

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = arena->chunks;

    if (size > ARENA_LIMIT || arena->total > ARENA_LIMIT)
        return NULL;
    size = (size + 15) & ~(size_t)15;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t bytes = size > CHUNK_BYTES / 2 ? size : CHUNK_BYTES;

        chunk = calloc(1, sizeof(*chunk) + bytes);
        if (!chunk)
            return NULL;
        chunk->size = bytes;
        arena->total += bytes;
        // A chunk for one large piece goes after the chunk that is being filled.
        if (arena->chunks && bytes == size && bytes > CHUNK_BYTES / 2) {
            chunk->next = arena->chunks->next;
            arena->chunks->next = chunk;
        } else {
            chunk->next = arena->chunks;
            arena->chunks = chunk;
        }
    }
    void *p = chunk->data + chunk->used;
    chunk->used += size;
    return p;
}

void arena_free(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;

        free(arena->chunks);
        arena->chunks = next;
    }
    arena->total = 0;
}
