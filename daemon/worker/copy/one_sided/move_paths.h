// SPDX-License-Identifier: BSD-3-Clause
// Chooses the path of the next move between the client's memory and the GPU: directly, or through
// staging blocks of one of several sizes. The times of earlier moves decide (timed_paths.h). They
// are times of the device and the GPU: a move begins when its stream has reached it.
//
// All functions are called under the mover's lock.
#ifndef RGPU_WORKER_MOVE_PATHS_H
#define RGPU_WORKER_MOVE_PATHS_H

#include "daemon/worker/copy/parts/timed_paths.h"

enum move_kind { MOVE_TO_DEVICE, MOVE_FROM_DEVICE };

struct move_path_wish {
    enum move_kind kind;
    uint64_t size;
    bool alone;      // nothing else is under way
    bool rows;       // it is a rectangle, whose time tells nothing of others
    unsigned usable; // PATH_BITs
};

// Before the first move: what the box knows.
void move_paths_start(void);
enum path move_path_choose(struct timed_path *way, const struct move_path_wish *wish);
// Falls back to staging blocks if the chosen path is not available.
void move_path_give_up(struct timed_path *way);
// GOES_ON: another move of its kind is under way.
void move_path_ended(const struct timed_path *way, bool goes_on);

#endif
