// SPDX-License-Identifier: BSD-3-Clause
// Addresses of one device's memory: a reserved range of this process, handed out in pieces.
#ifndef SIM_ARENA_H
#define SIM_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct address_arena;

// From now on arenas lie where the kernel puts mappings, as those of drivers do, and not far from there.
void arenas_lie_near(void);
// Reserves room for `size` bytes of allocations: NULL when the process has not the addresses.
struct address_arena *arena_create(size_t size);
// The same of addresses alone: what is taken is mapped by whoever takes it, and unmapped again before it is
// given back.
struct address_arena *arena_create_empty(size_t size);

// A piece at a multiple of `alignment` (a power of two): -ENOMEM. Any thread may call.
int arena_take(struct address_arena *arena, size_t size, size_t alignment, uint64_t *address);

// That very piece; -ENOMEM: not all of it is free.
int arena_take_at(struct address_arena *arena, uint64_t address, size_t size);

// Gives a piece back; whole pages return to the system at once.
void arena_give(struct address_arena *arena, uint64_t address, size_t size);

#endif
