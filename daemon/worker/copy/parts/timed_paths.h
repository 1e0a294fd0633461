// SPDX-License-Identifier: BSD-3-Clause
// Chooses the path of a worker's next move by the times of earlier ones, with a table like the
// client's for its copies; the box keeps both in one place (common/base/path_table.h).
//
// The time of a single move counts from its earliest possible start to its last byte; in a sequence
// without gaps it counts from the end of one move to the end of the next.
//
// The owner of a struct timed_paths calls the functions under a lock of its own.
#ifndef RGPU_WORKER_TIMED_PATHS_H
#define RGPU_WORKER_TIMED_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/path_table.h"

// Without measurements: the size in bytes from which registration of GPU memory pays.
enum { DIRECT_USUALLY = 64 << 10 };

// Moves of one kind by one path that follow each other.
struct timed_run {
    bool any;
    struct path_place place;
    enum path path;
    uint64_t began, before;
    unsigned count;
};

struct timed_paths {
    enum path_use first_use; // the first of its two kinds; the second follows it
    char other
        [64]; // address of the box that moves go to and come from; empty: they are the client's
    char transport[16]; // to that
    struct path_table table;
    struct timed_run runs[2]; // by kind
    uint64_t ever;            // moves
};

// The path of one move.
struct timed_path {
    struct path_place place;
    enum path path;
    bool measured;   // there was a choice
    bool open;       // which has not been made for good
    uint64_t number; // of the moves ever asked for
    uint64_t before; // ns that were needed before it could be placed
    uint64_t began;  // ns; 0: it could not begin yet
};

struct timed_path_wish {
    unsigned kind; // 0 or 1
    uint64_t size;
    bool alone;      // nothing else is under way
    bool unlike;     // other ones of its size, so that its time tells nothing of them
    unsigned usable; // PATH_BITs
    enum path usual; // one of these, where nothing is known
};

enum path timed_path_choose(struct timed_paths *paths, struct timed_path *way,
                            const struct timed_path_wish *wish);
// Records that the chosen path is not available and PATH was used.
void timed_path_give_up(struct timed_path *way, enum path path);
void timed_path_begins(struct timed_path *way);
// GOES_ON: another move of its kind is under way.
void timed_path_ended(struct timed_paths *paths, const struct timed_path *way, bool goes_on);

#endif
