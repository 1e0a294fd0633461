// SPDX-License-Identifier: BSD-3-Clause
// Which way copies go, decided from the times that they took: one cell for each use of memory, pattern and
// power-of-two size. The paths of a cell take turns until each has been tried a few times, in so far as that costs
// little; then the best one stays until its times double, or are above what another one took. A path is left only for one that is
// a tenth faster.
//
// Nothing here looks at a clock, allocates or waits. A table is changed by one thread at a time; path_settled alone may
// be asked by any.
#ifndef RGPU_COMMON_PATH_TABLE_H
#define RGPU_COMMON_PATH_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How the bytes travel.
enum path {
    PATH_INLINE,       // inside the request, or its reply
    PATH_STAGED,       // through blocks that both sides have
    PATH_MAPPED,       // the GPU reads and writes the program's memory
    PATH_ONE_SIDED,    // the box's device reads and writes it, and the GPU the box's blocks
    PATH_DIRECT,       // the box's device reads and writes the program's memory and the GPU's
    PATH_SMALL_BLOCKS, // one-sided, by blocks that are smaller than usual
    PATH_LARGE_BLOCKS, // or larger
    // Between GPUs of two boxes direct is without blocks on either side, and these on one.
    PATH_DIRECT_SOURCE, // the device reads the source's memory, and what comes waits in blocks
    PATH_DIRECT_TARGET, // it reads blocks, and writes the target's memory
    PATHS
};
// Between what. What is not locked is ordinary memory. The first ones are of a client, whose copies go to the box and what
// is there; the others of a worker: its device moves bytes between any memory of the client and the GPU, and in streams of this
// box its GPU and another box's copy to each other.
enum path_use {
    PATH_TO,
    PATH_FROM,
    PATH_TO_LOCKED,
    PATH_FROM_LOCKED,
    PATH_MOVE_TO,
    PATH_MOVE_FROM,
    PATH_TO_BOX,
    PATH_FROM_BOX,
    PATH_USES
};
// By what else the program has under way in the stream.
enum path_pattern { PATH_LATENCY, PATH_BANDWIDTH, PATH_PATTERNS };

enum {
    PATH_SIZES = 28,               // the last one is for all that is larger as well
    PATH_TRIES = 7,                // of each path
    PATH_TRIES_LEAST = 2,          // before one that is far behind is left out
    PATH_FAR_BEHIND = 2,           // times as slow as the best
    PATH_DISTURBED_PERCENT = 2000, // of the best time: what a trial is said to cost at most
    PATH_ALIKE = 2,         // sizes that so many powers of two lie between have much in common
    PATH_SLOW = PATH_TRIES, // copies in a row that took much longer than those
    PATH_GAIN_PERCENT = 10, // less than this is no reason to leave a path
    PATH_COST_PERCENT = 20, // by which trials may make a copy longer, on average
};

#define PATH_BIT(path) (1u << (path))
// For who does not move the bytes all of these are one: one-sided.
#define PATH_BY_DEVICE \
    (PATH_BIT(PATH_ONE_SIDED) | PATH_BIT(PATH_DIRECT) | PATH_BIT(PATH_SMALL_BLOCKS) | \
     PATH_BIT(PATH_LARGE_BLOCKS))

struct path_place {
    enum path_use use;
    enum path_pattern pattern;
    unsigned size; // sizes up to 2 to the power of this
};

struct path_cell {
    uint32_t samples[PATHS][PATH_TRIES]; // ns
    uint32_t ns[PATHS];                  // what was found; 0: nothing
    uint8_t tries[PATHS];
    // PATH_BITs: what was last said to be usable; what is too slow to be tried again
    uint16_t usable, out;
    uint8_t usual; // where nothing better is known
    uint8_t chosen, slow;
    bool known;               // chosen has been found by measuring
    bool settled;             // and is to stay
    _Atomic uint32_t decided; // while settled: 1 + chosen, and usable from bit 8 on; else 0
};

struct path_table {
    struct path_cell cells[PATH_USES][PATH_PATTERNS][PATH_SIZES];
    // Copies that were measured, and how much longer than the best they were for trials, in percent of it.
    uint64_t copies, cost;
};

// What is told of a cell, here and on the wire: little endian, without gaps.
struct path_row {
    uint8_t use, pattern, size, chosen;
    uint32_t ns[PATHS]; // of one copy; 0: not known
};

// And what a box keeps of it, for one host, a client's or another box's, and GPU.
struct path_kept {
    char transport[16];
    struct path_row row;
};
_Static_assert(sizeof(struct path_row) == 40 && sizeof(struct path_kept) == 56, "no gaps");

// Whose a use is: the worker's alone, and then for another box and not for a client's host.
static inline bool path_use_is_workers(unsigned use)
{
    return use >= PATH_MOVE_TO;
}

static inline bool path_use_is_between_boxes(unsigned use)
{
    return use >= PATH_TO_BOX;
}

extern const char *const path_names[PATHS], *const path_use_names[PATH_USES],
                                                *const path_pattern_names[PATH_PATTERNS];

static inline unsigned path_size_class(size_t size)
{
    unsigned bits = size > 1 ? 64 - (unsigned)__builtin_clzll((unsigned long long)size - 1) : 0;

    return bits < PATH_SIZES ? bits : PATH_SIZES - 1;
}

static inline struct path_cell *path_cell_at(struct path_table *table, struct path_place place)
{
    return &table->cells[place.use][place.pattern][place.size];
}

// The path that is to stay where those of USABLE can be had, or -1: path_choose is to be asked, and the time to be told.
static inline int path_settled(struct path_table *table, struct path_place place, unsigned usable)
{
    unsigned decided =
        atomic_load_explicit(&path_cell_at(table, place)->decided, memory_order_relaxed);

    return decided >> 8 == usable && decided ? (int)(decided & 0xff) - 1 : -1;
}

// The path for a copy: one of USABLE, which has at least one. USUAL: where nothing has been measured. TRIAL: the copy's
// time will be told, so that it may be one of which little is known.
enum path path_choose(struct path_table *table, struct path_place place, unsigned usable,
                      enum path usual, bool trial);
// A copy took NS nanoseconds. True: the cell has settled or is open again, so that its row is another one.
bool path_take(struct path_table *table, struct path_place place, enum path path, uint64_t ns);

// What is known of a cell that has settled; false: it has not.
bool path_row_of(const struct path_table *table, struct path_place place, struct path_row *row);
// Whether a row can be right at all, wherever it comes from.
bool path_row_is_valid(const struct path_row *row);
// Takes over what another session has found. False: the row cannot be right.
bool path_learn(struct path_table *table, const struct path_row *row);

// The names of all paths, for those who are told which there are.
#define PATH_WORDS \
    "inline, staged, mapped, one-sided, direct, small-blocks, large-blocks, direct-source, direct-target"
// Reads "auto", or names of paths with commas: the PATH_BITs of those that are to be used where they can be; 0: auto,
// -EINVAL.
int path_parse(const char *text);

#endif
