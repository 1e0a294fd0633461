// SPDX-License-Identifier: BSD-3-Clause
// What collectives have in common. Each is a number of steps, which are queued for all members of this process one after
// the other: a step may wait for what another member's step before has sent.
#ifndef RGPU_TEAM_COLLECTIVE_H
#define RGPU_TEAM_COLLECTIVE_H

#include "team-lib/team_parts.h"

enum {
    COLLECTIVE_PIECE = 2 << 20, // bytes that go around the ring at once
    COLLECTIVE_PIECES = 2,      // that a member has room for
};

// Signals of the team's own window.
enum collective_tag {
    TAG_ARRIVED,  // a piece of the ring is in the scratch memory
    TAG_TAKEN,    // and has been used
    TAG_GATHERED, // a piece that is ready is in the window
    TAG_READY,    // a member waits for its parent's data
    TAG_SENT,     // which are there
    TAG_BLOCK,    // a member's part of what all gather
    TAG_ROUND,    // of a barrier, and those that follow: a round for each power of two
    COLLECTIVE_TAGS = TAG_ROUND + 6,
};
_Static_assert(1 << (COLLECTIVE_TAGS - TAG_ROUND) >= RGPU_MEMBERS_MAX, "a barrier has its rounds");

// Kernels, of the current context; scratch memory and signals of all members.
enum rgpu_result collective_load(CUmodule *module);
enum rgpu_result all_reduce_load(CUmodule module); // a part of that
// Launches a kernel that does nothing, and waits for it: the first launch behind the loading of a module may wait in the
// driver until no stream of the context waits for a value, and everything behind it does, too.
enum rgpu_result all_reduce_run_first(CUmodule module, CUstream stream);
enum rgpu_result collective_open(struct rgpu_team *team);

struct collective {
    struct rgpu_team *team;
    struct rgpu_window *window; // NULL: none
    const CUstream *streams;
};

// Whether every member has such a place in its window.
enum rgpu_result collective_check_places(const struct rgpu_window *window, size_t offset,
                                         size_t bytes);
// Takes the lock of the team where all is well. A failure on the way ends the team, whose members would wait for each
// other for ever; collective_end gives RESULT back.
enum rgpu_result collective_begin(const struct collective *c, const char *what);
enum rgpu_result collective_end(const struct collective *c, enum rgpu_result result);

// Under the lock. The process's member I puts, and waits.
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

// The member STEPS behind RANK in the circle of all.
static inline int collective_behind(const struct collective *c, int rank, int steps)
{
    return ((rank - steps) % c->team->size + c->team->size) % c->team->size;
}

#endif
