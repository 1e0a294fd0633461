// SPDX-License-Identifier: BSD-3-Clause
// By which path the next of a worker's moves goes, by what earlier ones took: a table as the client has one of its copies, and
// the box keeps it in the same place (common/path_table.h).
//
// Of a move that is alone the time counts from where it could begin until its last byte has moved; of those that follow each
// other without a gap, from the end of one to the end of another.
//
// Who has a struct timed_paths calls under a lock of his own.
#ifndef RGPU_WORKER_TIMED_PATHS_H
#define RGPU_WORKER_TIMED_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/path_table.h"

// Where nothing is known: bytes from which on memory of the GPU is worth registering.
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
    enum path_use first_use; // of the two kinds: this and the one behind it
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
// What was chosen cannot be had: PATH is.
void timed_path_give_up(struct timed_path *way, enum path path);
void timed_path_begins(struct timed_path *way);
// GOES_ON: another move of its kind is under way.
void timed_path_ended(struct timed_paths *paths, const struct timed_path *way, bool goes_on);

#endif
