// SPDX-License-Identifier: BSD-3-Clause
// Address ranges in one sorted array: allocations are few and look-ups many.
#include "client-lib/cuda/objects/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Returns the index of the first range that ends after ADDRESS.
static size_t position(const struct ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct range *row = &ranges->rows[middle];
        if (row->base + row->size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int ranges_add(struct ranges *ranges, uint64_t base, uint64_t size, void *value)
{
    size_t at = position(ranges, base);
    if (at < ranges->count && ranges->rows[at].base < base + size)
        return -EEXIST;
    if (ranges->count == ranges->room) {
        size_t room = ranges->room ? 2 * ranges->room : 64;
        struct range *rows = realloc(ranges->rows, room * sizeof(*rows));
        if (!rows)
            return -ENOMEM;
        ranges->rows = rows;
        ranges->room = room;
    }
    memmove(&ranges->rows[at + 1], &ranges->rows[at], (ranges->count - at) * sizeof(*ranges->rows));
    ranges->rows[at] = (struct range){base, size, value};
    ranges->count++;
    return 0;
}

struct range *ranges_at_or_after(const struct ranges *ranges, uint64_t address)
{
    size_t at = position(ranges, address);
    return at < ranges->count ? &ranges->rows[at] : NULL;
}

struct range *ranges_find(const struct ranges *ranges, uint64_t address)
{
    struct range *row = ranges_at_or_after(ranges, address);
    return row && row->base <= address ? row : NULL;
}

bool ranges_remove(struct ranges *ranges, uint64_t base, void **value)
{
    struct range *row = ranges_find(ranges, base);
    if (!row || row->base != base)
        return false;
    *value = row->value;
    size_t at = (size_t)(row - ranges->rows);
    memmove(row, row + 1, (ranges->count - at - 1) * sizeof(*row));
    ranges->count--;
    return true;
}
