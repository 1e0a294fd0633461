// SPDX-License-Identifier: BSD-3-Clause
// Keeps a file that reserves disk space. When the disk is full, the file is deleted and leases can
// still end; otherwise their GPUs would stay taken until an administrator frees space.
#ifndef RGPU_BROKER_RESERVE_H
#define RGPU_BROKER_RESERVE_H

#include <stdbool.h>

struct reserve {
    char path[4096];
    bool held;
};

// Sets the reserve's path to the directory of the database PATH. Detects a reserve from an earlier
// start.
void reserve_init(struct reserve *reserve, const char *path);
// Creates the file unless it exists. Returns 0 or -errno, such as -ENOSPC.
int reserve_take(struct reserve *reserve) __attribute__((warn_unused_result));
// Returns true if a few MB of the disk are free besides the reserve.
bool reserve_has_margin(const struct reserve *reserve);
// Deletes the file, so that writes can use its space. Returns false if there was none.
bool reserve_give(struct reserve *reserve);

#endif
