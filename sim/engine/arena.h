// SPDX-License-Identifier: BSD-3-Clause
// Allocates the addresses of one device's memory, from an address range that is reserved in this
// process.
#ifndef SIM_ARENA_H
#define SIM_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct address_arena;

// Makes later arenas use addresses close to where the kernel puts mappings, as drivers do.
void arenas_lie_near(void);
// Reserves address space of SIZE bytes. Allocations have memory. Returns NULL on failure.
struct address_arena *arena_create(size_t size);
// As arena_create, but allocations have no memory. The caller must map memory into them, and unmap
// it before arena_give.
struct address_arena *arena_create_empty(size_t size);

// Allocates SIZE bytes at a multiple of ALIGNMENT, a power of two. Returns 0 or -ENOMEM.
// Thread-safe.
int arena_take(struct address_arena *arena, size_t size, size_t alignment, uint64_t *address);

// Allocates SIZE bytes at ADDRESS. Returns 0, or -ENOMEM if a part is allocated already.
int arena_take_at(struct address_arena *arena, uint64_t address, size_t size);

// Frees an allocation. The kernel gets its whole pages back immediately.
void arena_give(struct address_arena *arena, uint64_t address, size_t size);

#endif
