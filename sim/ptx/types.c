// SPDX-License-Identifier: BSD-3-Clause
// PTX's fundamental types, and the arena that compiled modules live in.
#include "sim/ptx/compiled_module.h"

#include <stdlib.h>
#include <string.h>

const struct type_info type_table[TY_COUNT] = {
    [TY_NONE] = {"", 0, 0},           [TY_PRED] = {"pred", 0, 'p'},
    [TY_B8] = {"b8", 1, 'b'},         [TY_B16] = {"b16", 2, 'b'},
    [TY_B32] = {"b32", 4, 'b'},       [TY_B64] = {"b64", 8, 'b'},
    [TY_B128] = {"b128", 16, 'b'},    [TY_U8] = {"u8", 1, 'u'},
    [TY_U16] = {"u16", 2, 'u'},       [TY_U32] = {"u32", 4, 'u'},
    [TY_U64] = {"u64", 8, 'u'},       [TY_S8] = {"s8", 1, 's'},
    [TY_S16] = {"s16", 2, 's'},       [TY_S32] = {"s32", 4, 's'},
    [TY_S64] = {"s64", 8, 's'},       [TY_F16] = {"f16", 2, 'f'},
    [TY_BF16] = {"bf16", 2, 'f'},     [TY_F32] = {"f32", 4, 'f'},
    [TY_F64] = {"f64", 8, 'f'},       [TY_F16X2] = {"f16x2", 4, 'f'},
    [TY_BF16X2] = {"bf16x2", 4, 'f'}, [TY_U16X2] = {"u16x2", 4, 'x'},
    [TY_S16X2] = {"s16x2", 4, 'x'},
};

enum type type_by_name(const char *name, size_t len)
{
    for (int t = TY_PRED; t < TY_COUNT; t++)
        if (strlen(type_table[t].name) == len && !memcmp(type_table[t].name, name, len))
            return t;
    return TY_NONE;
}

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
        // A chunk made for one large thing goes behind the one that is being filled.
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
