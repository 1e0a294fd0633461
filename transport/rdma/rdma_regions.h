// SPDX-License-Identifier: BSD-3-Clause
// The registered ranges of memory: finds them by any part, counts and limits them. Does not call
// verbs: the caller registers, deregisters and locks.
#ifndef RGPU_TRANSPORT_RDMA_REGIONS_H
#define RGPU_TRANSPORT_RDMA_REGIONS_H

#include <stddef.h>
#include <stdint.h>

struct ibv_mr;

// A range of memory, exactly as it was named. It has a registration of its own, or uses that of a
// range which contains it. Ranges that overlap in part do not share one.
struct rdma_region {
    uintptr_t start, end;
    struct ibv_mr *mr;          // NULL: WITHIN's
    struct rdma_region *within; // which lives at least as long
    unsigned uses;              // how often it was named, and not given up since
    unsigned parts;             // ranges that use its registration
};

struct rdma_regions {
    struct rdma_region **list; // by start
    uintptr_t *reach;          // of each: the furthest end of it and all before
    size_t count, room;
    size_t registrations;
    uint64_t bytes; // that are registered; what overlaps counts twice, as it does for a limit
    size_t registrations_max; // 0: no limit
    uint64_t bytes_max;
};

// Returns 0 if a registration of SIZE bytes more is within the limits, else -ENOSPC.
int rdma_regions_allow(const struct rdma_regions *regions, uint64_t size);
// Names a range: the registration that covers it, or NULL where there is none. *ERROR: 0, -ENOMEM.
struct ibv_mr *rdma_regions_hold(struct rdma_regions *regions, uintptr_t start, uintptr_t end,
                                 int *error);
// Names a range that has just been registered.
int rdma_regions_add(struct rdma_regions *regions, uintptr_t start, uintptr_t end,
                     struct ibv_mr *mr);
// Gives the range up once. Returns a registration without users, for the caller to undo; else NULL,
// also for an unknown range.
struct ibv_mr *rdma_regions_release(struct rdma_regions *regions, uintptr_t start, uintptr_t end);
// The registration that covers a range, or NULL.
struct ibv_mr *rdma_regions_find(const struct rdma_regions *regions, uintptr_t start,
                                 uintptr_t end);
// Any registration that is left, forgotten here; NULL: none. For the end, after which the table is
// empty and needs no freeing.
struct ibv_mr *rdma_regions_take_any(struct rdma_regions *regions);

#endif
