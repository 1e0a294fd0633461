// SPDX-License-Identifier: BSD-3-Clause
// Chooses the path of copies by the times that earlier copies took. There is one cell for each use
// of memory, pattern and power-of-two size. The paths of a cell take turns until each has been
// tried a few times, as long as that costs little. Then the fastest is kept until its times double,
// or exceed those of another path. A path is left only for one that is a tenth faster.
//
// The functions do not read a clock, allocate or wait. One thread at a time changes a table; any
// thread may call path_settled.
#ifndef RGPU_COMMON_PATH_TABLE_H
#define RGPU_COMMON_PATH_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The path of the bytes.
enum path {
    PATH_INLINE,       // inside the request, or its reply
    PATH_STAGED,       // through blocks that both sides have
    PATH_MAPPED,       // the GPU reads and writes the program's memory
    PATH_ONE_SIDED,    // the box's device reads and writes it, and the GPU the box's blocks
    PATH_DIRECT,       // the box's device reads and writes the program's memory and the GPU's
    PATH_SMALL_BLOCKS, // one-sided, by blocks that are smaller than usual
    PATH_LARGE_BLOCKS, // or larger
    // Between GPUs of two boxes, PATH_DIRECT uses blocks on neither side, and the following on one.
    PATH_DIRECT_SOURCE, // the device reads the source's memory into blocks
    PATH_DIRECT_TARGET, // it reads blocks, and writes the target's memory
    PATHS
};
// The two ends of a copy; memory is pageable unless the name says locked. The first ones are used
// by a client, which copies to and from the box. The others are used by a worker: its device moves
// bytes between any memory of the client and the GPU, and in streams of this box its GPU and
// another box's GPU copy to each other.
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
// The pattern depends on the other work that the program has queued in the stream.
enum path_pattern { PATH_LATENCY, PATH_BANDWIDTH, PATH_PATTERNS };

enum {
    PATH_SIZES = 28,               // the last one is for all that is larger as well
    PATH_TRIES = 7,                // of each path
    PATH_TRIES_LEAST = 2,          // before a much slower one is left out
    PATH_FAR_BEHIND = 2,           // times as slow as the best
    PATH_DISTURBED_PERCENT = 2000, // of the best time: limit of the counted cost of a trial
    PATH_ALIKE = 2,                // sizes this many powers of two apart are similar
    PATH_SLOW = PATH_TRIES,        // copies in a row that took much longer than those
    PATH_GAIN_PERCENT = 10,        // less than this is no reason to leave a path
    PATH_COST_PERCENT = 20,        // by which trials may make a copy longer, on average
};

#define PATH_BIT(path) (1u << (path))
// The end that does not move the bytes treats all of these as one-sided.
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
    uint32_t ns[PATHS];                  // the measured time; 0: none
    uint8_t tries[PATHS];
    // PATH_BITs: usable paths at the last call; paths too slow to be tried again
    uint16_t usable, out;
    uint8_t usual; // the path if no better one is known
    uint8_t chosen, slow;
    bool known;               // chosen has been found by measuring
    bool settled;             // and is kept
    _Atomic uint32_t decided; // while settled: 1 + chosen, and usable from bit 8 on; else 0
};

struct path_table {
    struct path_cell cells[PATH_USES][PATH_PATTERNS][PATH_SIZES];
    // The number of measured copies, and the total time that trials took beyond the best path, in
    // percent of its time.
    uint64_t copies, cost;
};

// The row of a cell, here and on the wire: little endian, without gaps.
struct path_row {
    uint8_t use, pattern, size, chosen;
    uint32_t ns[PATHS]; // of one copy; 0: not known
};

// A row as a box keeps it for one GPU and one host: a client's host or another box.
struct path_kept {
    char transport[16];
    struct path_row row;
};
_Static_assert(sizeof(struct path_row) == 40 && sizeof(struct path_kept) == 56, "no gaps");

// Returns true if the use is the worker's alone: paths to another box and not to a client's host.
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

// Returns the settled path among USABLE, or -1: then path_choose() chooses, and the time must be
// reported.
static inline int path_settled(struct path_table *table, struct path_place place, unsigned usable)
{
    unsigned decided =
        atomic_load_explicit(&path_cell_at(table, place)->decided, memory_order_relaxed);

    return decided >> 8 == usable && decided ? (int)(decided & 0xff) - 1 : -1;
}

// Returns the path for a copy: one of USABLE, which has at least one. USUAL: the path without
// measurements. TRIAL: the copy's time will be reported, so an unknown path may be tried.
enum path path_choose(struct path_table *table, struct path_place place, unsigned usable,
                      enum path usual, bool trial);
// Reports that a copy took NS nanoseconds. Returns true if the cell has settled or was reopened, so
// that its row has changed.
bool path_take(struct path_table *table, struct path_place place, enum path path, uint64_t ns);

// Fills in the row of a settled cell. Returns false if it has not settled.
bool path_row_of(const struct path_table *table, struct path_place place, struct path_row *row);
// Returns true if a row from any source can be valid.
bool path_row_is_valid(const struct path_row *row);
// Takes over the result of another session. Returns false if the row is invalid.
bool path_learn(struct path_table *table, const struct path_row *row);

// The names of all paths, for help texts.
#define PATH_WORDS \
    "inline, staged, mapped, one-sided, direct, small-blocks, large-blocks, direct-source, direct-target"
// Parses "auto", or names of paths with commas. Returns the PATH_BITs of the paths to use if they
// are available; 0: auto, -EINVAL.
int path_parse(const char *text);

#endif
