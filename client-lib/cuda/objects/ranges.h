// SPDX-License-Identifier: BSD-3-Clause
// A sorted set of disjoint address ranges, each with a value. The caller locks.
#ifndef RGPU_CLIENT_RANGES_H
#define RGPU_CLIENT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t base;
    uint64_t size; // bytes, not 0
    void *value;   // owned by the caller
};

struct ranges {
    struct range *rows; // sorted by base
    size_t count;       // number of ranges
    size_t room;        // number of ranges for which memory is allocated
};

// Adds a range. Returns 0, -EEXIST if it overlaps another range, or -ENOMEM.
int ranges_add(struct ranges *ranges, uint64_t base, uint64_t size, void *value);
// Returns the range that contains ADDRESS, else NULL. The pointer is valid until the set changes.
struct range *ranges_find(const struct ranges *ranges, uint64_t address);
// Returns the first range that ends after ADDRESS, else NULL. Valid as above.
struct range *ranges_at_or_after(const struct ranges *ranges, uint64_t address);
// Removes the range that begins at BASE, and sets *VALUE to its value. Returns false if there is
// none.
bool ranges_remove(struct ranges *ranges, uint64_t base, void **value);

#endif
