// SPDX-License-Identifier: BSD-3-Clause
// Reserves space on the broker's disk. Leases must be able to end on a full disk, because otherwise
// their GPUs would stay taken until an administrator frees space.
#ifndef RGPU_BROKER_RESERVE_H
#define RGPU_BROKER_RESERVE_H

#include <stdbool.h>

struct reserve {
    char path[4096];
    bool held;
};

// Prepares a reserve beside the database at `path`; an earlier start may have created it already.
void reserve_init(struct reserve *reserve, const char *path);
// Takes the space, unless it is held already. Returns 0 or -errno, such as -ENOSPC.
int reserve_take(struct reserve *reserve) __attribute__((warn_unused_result));
// Returns true if the disk has a margin of free space beside the reserve.
bool reserve_has_margin(const struct reserve *reserve);
// Frees the space for the next write. Returns false if none was held.
bool reserve_give(struct reserve *reserve);

#endif
