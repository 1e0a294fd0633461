// SPDX-License-Identifier: BSD-3-Clause
// By which path the next move goes: directly, or by blocks of which size. What moves take decides that, in a table as the
// client has one of its copies, and the box keeps it in the same place (common/path_table.h).
//
// Times are those of the device and the GPU: of a move that is alone, from where its stream has come to it until its last
// byte has moved; of those that follow each other without a gap, from the end of one to the end of another.
//
// All under the mover's lock.
#ifndef RGPU_WORKER_MOVE_PATHS_H
#define RGPU_WORKER_MOVE_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/path_table.h"

enum move_kind { MOVE_TO_DEVICE, MOVE_FROM_DEVICE };

// The path of one move.
struct move_path {
    struct path_place place;
    enum path path;
    bool measured;   // there was a choice
    bool open;       // which has not been made for good
    uint64_t number; // of the moves ever asked for
    uint64_t before; // ns that were needed before it could be placed
    uint64_t began;  // ns; 0: its stream has not come to it
};

struct move_path_wish {
    enum move_kind kind;
    uint64_t size;
    bool alone;      // nothing else is under way
    bool rows;       // it is a rectangle, whose time tells nothing of others
    unsigned usable; // PATH_BITs
};

// Before the first move: what the box knows.
void move_paths_start(void);
enum path move_path_choose(struct move_path *way, const struct move_path_wish *wish);
// What was chosen cannot be had: the usual blocks are.
void move_path_give_up(struct move_path *way);
void move_path_begins(struct move_path *way);
// GOES_ON: another move of its kind is under way.
void move_path_ended(const struct move_path *way, bool goes_on);

#endif
