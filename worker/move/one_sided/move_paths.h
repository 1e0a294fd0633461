// SPDX-License-Identifier: BSD-3-Clause
// By which path the next move between the client's memory and the GPU goes: directly, or by blocks of which size. What moves
// take decides that (timed_paths.h). Times are those of the device and the GPU: a move begins where its stream has come to it.
//
// All under the mover's lock.
#ifndef RGPU_WORKER_MOVE_PATHS_H
#define RGPU_WORKER_MOVE_PATHS_H

#include "worker/move/timed_paths.h"

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
// What was chosen cannot be had: the usual blocks are.
void move_path_give_up(struct timed_path *way);
// GOES_ON: another move of its kind is under way.
void move_path_ended(const struct timed_path *way, bool goes_on);

#endif
