// SPDX-License-Identifier: BSD-3-Clause
// Common parts of collectives. Each consists of steps. A step is queued for all members of this
// process before the next one, because it may wait for data of another member's earlier step.
#ifndef RGPU_TEAM_COLLECTIVE_H
#define RGPU_TEAM_COLLECTIVE_H

#include "client-lib/putnotify/team_parts.h"

enum {
    COLLECTIVE_PIECE = 2 << 20, // bytes of one step of the ring
    COLLECTIVE_PIECES = 2,      // pieces of scratch memory of a member
};

// Signals of the team's own window.
enum collective_tag {
    TAG_ARRIVED,  // a piece of the ring is in the scratch memory
    TAG_TAKEN,    // the receiver has used that piece
    TAG_GATHERED, // a complete piece is in the window
    TAG_READY,    // a member is ready for its parent's data
    TAG_SENT,     // the parent's data have arrived
    TAG_BLOCK,    // another member's part of an all-gather
    TAG_ROUND,    // first of the tags of a barrier: one round for each power of two
    COLLECTIVE_TAGS = TAG_ROUND + 6,
};
_Static_assert(1 << (COLLECTIVE_TAGS - TAG_ROUND) >= RGPU_MEMBERS_MAX, "a barrier has its rounds");

// Kernels, of the current context; scratch memory and signals of all members.
enum rgpu_result collective_load(CUmodule *module);
enum rgpu_result all_reduce_load(CUmodule module); // called by collective_load
// Launches an empty kernel, and waits for it. After a module is loaded, the first launch may wait
// in the driver until no stream of the context waits for a value, and all later work would wait,
// too.
enum rgpu_result all_reduce_run_first(CUmodule module, CUstream stream);
enum rgpu_result collective_open(struct rgpu_team *team);

struct collective {
    struct rgpu_team *team;
    struct rgpu_window *window; // NULL: none
    const CUstream *streams;
};

// Returns an error unless every member has BYTES at OFFSET in its window.
enum rgpu_result collective_check_places(const struct rgpu_window *window, size_t offset,
                                         size_t bytes);
// Takes the lock of the team on success. A failure during the collective ends the team, because its
// members would wait for each other forever; collective_end returns RESULT.
enum rgpu_result collective_begin(const struct collective *c, const char *what);
enum rgpu_result collective_end(const struct collective *c, enum rgpu_result result);

// The caller holds the lock. Member I of this process puts, or waits.
enum rgpu_result collective_put(const struct collective *c, int i, struct rgpu_window *into, int to,
                                size_t offset, CUdeviceptr source, size_t bytes,
                                enum collective_tag tag);
enum rgpu_result collective_wait(const struct collective *c, int i, int from,
                                 enum collective_tag tag);
enum rgpu_result collective_barrier(const struct collective *c);

static inline int collective_rank(const struct collective *c, int i)
{
    return c->team->first + i;
}

// Returns the member that is STEPS before RANK in the ring of all members.
static inline int collective_behind(const struct collective *c, int rank, int steps)
{
    return ((rank - steps) % c->team->size + c->team->size) % c->team->size;
}

#endif
