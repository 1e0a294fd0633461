// SPDX-License-Identifier: BSD-3-Clause
// Room on the broker's disk that is kept for the day when there is no other: leases must end on a full
// disk too, or their GPUs would stay taken until somebody makes room.
#ifndef RGPU_BROKER_RESERVE_H
#define RGPU_BROKER_RESERVE_H

#include <stdbool.h>

struct reserve {
    char path[4096];
    bool held;
};

// Beside the database at `path`, where it may be held since an earlier start.
void reserve_init(struct reserve *reserve, const char *path);
// Takes the room. Nothing happens where it is held. -ENOSPC, ...
int reserve_take(struct reserve *reserve) __attribute__((warn_unused_result));
// Whether there is room beside it, and not only by chance in files that are there.
bool reserve_has_margin(const struct reserve *reserve);
// Gives it to whoever writes next. False: there was none.
bool reserve_give(struct reserve *reserve);

#endif
