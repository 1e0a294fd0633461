// SPDX-License-Identifier: BSD-3-Clause
// Hands out the addresses of one device's memory from a reserved range of this process.
#ifndef SIM_ARENA_H
#define SIM_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct address_arena;

// Makes arenas created after this call lie where the kernel puts mappings, as those of drivers do,
// or close to it.
void arenas_lie_near(void);
// Reserves addresses for `size` bytes of allocations. Returns NULL if the process lacks the
// addresses.
struct address_arena *arena_create(size_t size);
// Reserves addresses only. The caller maps memory into a piece that it takes, and unmaps that
// memory before it gives the piece back.
struct address_arena *arena_create_empty(size_t size);

// Takes a free piece at a multiple of `alignment` (a power of two). Returns 0 or -ENOMEM.
// Thread-safe.
int arena_take(struct address_arena *arena, size_t size, size_t alignment, uint64_t *address);

// Takes exactly the piece at `address`. Returns 0, or -ENOMEM if part of the piece is taken.
int arena_take_at(struct address_arena *arena, uint64_t address, size_t size);

// Gives a piece back. Its whole pages return to the system at once.
void arena_give(struct address_arena *arena, uint64_t address, size_t size);

#endif
