// SPDX-License-Identifier: BSD-3-Clause
// A list sorted by start. Each entry has the highest end of all entries up to it, so that bisection
// and a short walk find the ranges that may cover another one.
#include "transport/rdma/rdma_regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Returns the number of regions that begin at START or before.
static size_t count_up_to(const struct rdma_regions *regions, uintptr_t start)
{
    size_t low = 0, high = regions->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (regions->list[middle]->start <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t rdma_regions_index_of(const struct rdma_regions *regions, uintptr_t start,
                                    uintptr_t end)
{
    for (size_t i = count_up_to(regions, start); i > 0; i--) {
        const struct rdma_region *region = regions->list[i - 1];
        if (region->start != start)
            break;
        if (region->end == end)
            return i - 1;
    }
    return SIZE_MAX;
}

static struct rdma_region *covering(const struct rdma_regions *regions, uintptr_t start,
                                    uintptr_t end)
{
    for (size_t i = count_up_to(regions, start); i > 0 && regions->reach[i - 1] >= end; i--) {
        // A part leads to its whole, so that the many parts of one are not walked past.
        struct rdma_region *region = regions->list[i - 1];
        struct rdma_region *whole = region->mr ? region : region->within;
        if (whole->end >= end)
            return whole;
    }
    return NULL;
}

static void renew_reach(struct rdma_regions *regions, size_t from)
{
    for (size_t i = from; i < regions->count; i++) {
        uintptr_t end = regions->list[i]->end, before = i ? regions->reach[i - 1] : 0;
        regions->reach[i] = end > before ? end : before;
    }
}

static int rdma_regions_make_room(struct rdma_regions *regions)
{
    if (regions->count < regions->room)
        return 0;
    size_t room = regions->room ? 2 * regions->room : 16;
    struct rdma_region **list = realloc(regions->list, room * sizeof(*list));
    if (list)
        regions->list = list;
    uintptr_t *reach = list ? realloc(regions->reach, room * sizeof(*reach)) : NULL;
    if (!reach)
        return -ENOMEM;
    regions->reach = reach;
    regions->room = room;
    return 0;
}

static struct rdma_region *rdma_regions_insert(struct rdma_regions *regions, uintptr_t start,
                                               uintptr_t end)
{
    struct rdma_region *region = rdma_regions_make_room(regions) ? NULL
                                                                 : calloc(1, sizeof(*region));

    if (!region)
        return NULL;
    *region = (struct rdma_region){.start = start, .end = end, .uses = 1};
    size_t at = count_up_to(regions, start);
    memmove(&regions->list[at + 1], &regions->list[at],
            (regions->count - at) * sizeof(*regions->list));
    regions->list[at] = region;
    regions->count++;
    renew_reach(regions, at);
    return region;
}

static void rdma_regions_drop(struct rdma_regions *regions, size_t at)
{
    free(regions->list[at]);
    regions->count--;
    memmove(&regions->list[at], &regions->list[at + 1],
            (regions->count - at) * sizeof(*regions->list));
    renew_reach(regions, at);
}

int rdma_regions_allow(const struct rdma_regions *regions, uint64_t size)
{
    if (regions->registrations_max && regions->registrations >= regions->registrations_max)
        return -ENOSPC;
    if (regions->bytes_max &&
        (size > regions->bytes_max || regions->bytes > regions->bytes_max - size))
        return -ENOSPC;
    return 0;
}

struct ibv_mr *rdma_regions_hold(struct rdma_regions *regions, uintptr_t start, uintptr_t end,
                                 int *error)
{
    size_t known = rdma_regions_index_of(regions, start, end);

    *error = 0;
    if (known != SIZE_MAX) {
        struct rdma_region *region = regions->list[known];
        region->uses++;
        return region->mr ? region->mr : region->within->mr;
    }
    struct rdma_region *whole = covering(regions, start, end);
    if (!whole)
        return NULL;
    struct rdma_region *part = rdma_regions_insert(regions, start, end);
    if (!part) {
        *error = -ENOMEM;
        return NULL;
    }
    part->within = whole;
    whole->parts++;
    return whole->mr;
}

int rdma_regions_add(struct rdma_regions *regions, uintptr_t start, uintptr_t end,
                     struct ibv_mr *mr)
{
    struct rdma_region *region = rdma_regions_insert(regions, start, end);

    if (!region)
        return -ENOMEM;
    region->mr = mr;
    regions->registrations++;
    regions->bytes += end - start;
    return 0;
}

// Forgets an unused region; returns its registration or NULL.
static struct ibv_mr *rdma_regions_forget(struct rdma_regions *regions, size_t at)
{
    struct rdma_region *region = regions->list[at];
    struct ibv_mr *mr = region->mr;

    if (region->uses || region->parts)
        return NULL;
    if (mr) {
        regions->registrations--;
        regions->bytes -= region->end - region->start;
    }
    rdma_regions_drop(regions, at);
    return mr;
}

struct ibv_mr *rdma_regions_release(struct rdma_regions *regions, uintptr_t start, uintptr_t end)
{
    size_t at = rdma_regions_index_of(regions, start, end);

    if (at == SIZE_MAX || !regions->list[at]->uses)
        return NULL;
    struct rdma_region *region = regions->list[at], *whole = region->within;
    if (--region->uses)
        return NULL;
    struct ibv_mr *mr = rdma_regions_forget(regions, at);
    if (!whole)
        return mr;
    whole->parts--;
    return rdma_regions_forget(regions, rdma_regions_index_of(regions, whole->start, whole->end));
}

struct ibv_mr *rdma_regions_find(const struct rdma_regions *regions, uintptr_t start, uintptr_t end)
{
    const struct rdma_region *region = covering(regions, start, end);

    return region ? region->mr : NULL;
}

struct ibv_mr *rdma_regions_take_any(struct rdma_regions *regions)
{
    while (regions->count) {
        struct ibv_mr *mr = regions->list[regions->count - 1]->mr;
        free(regions->list[--regions->count]);
        if (mr)
            return mr;
    }
    free(regions->list);
    free(regions->reach);
    *regions = (struct rdma_regions){0};
    return NULL;
}
