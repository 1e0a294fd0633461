// SPDX-License-Identifier: BSD-3-Clause
// Table of registered memory ranges: finds, counts and limits them. Calls no verbs; the caller
// registers, deregisters and locks.
#ifndef RGPU_TRANSPORT_RDMA_REGIONS_H
#define RGPU_TRANSPORT_RDMA_REGIONS_H

#include <stddef.h>
#include <stdint.h>

struct ibv_mr;

// A range that the program has exposed. It has its own registration, or uses that of a range that
// contains it. Ranges that overlap only in part have separate registrations.
struct rdma_region {
    uintptr_t start, end;
    struct ibv_mr *mr;          // NULL: the registration of `within` is used
    struct rdma_region *within; // a range that lives at least as long
    unsigned uses;              // number of rdma_regions_hold and _add without _release
    unsigned parts;             // ranges that use this registration
};

struct rdma_regions {
    struct rdma_region **list; // sorted by start
    uintptr_t *reach;          // reach[i]: highest end of list[0] to list[i]
    size_t count, room;
    size_t registrations;
    uint64_t bytes; // registered bytes; overlaps count twice, as in the limit of locked memory
    size_t registrations_max; // 0: no limit
    uint64_t bytes_max;
};

// Returns 0, or -ENOSPC if a registration of SIZE bytes would exceed a limit.
int rdma_regions_allow(const struct rdma_regions *regions, uint64_t size);
// Adds a use of a range and returns the registration that covers it. Returns NULL if there is none,
// with *ERROR 0, or -ENOMEM.
struct ibv_mr *rdma_regions_hold(struct rdma_regions *regions, uintptr_t start, uintptr_t end,
                                 int *error);
// Adds a range with its new registration. Returns 0 or -ENOMEM.
int rdma_regions_add(struct rdma_regions *regions, uintptr_t start, uintptr_t end,
                     struct ibv_mr *mr);
// Drops a use of a range. Returns a registration that is no longer used, for the caller to
// deregister; else NULL, also for an unknown range.
struct ibv_mr *rdma_regions_release(struct rdma_regions *regions, uintptr_t start, uintptr_t end);
// Returns the registration that covers a range, or NULL.
struct ibv_mr *rdma_regions_find(const struct rdma_regions *regions, uintptr_t start,
                                 uintptr_t end);
// Removes and returns a registration; NULL if there are none left, which also frees the table.
struct ibv_mr *rdma_regions_take_any(struct rdma_regions *regions);

#endif
