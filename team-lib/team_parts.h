// SPDX-License-Identifier: BSD-3-Clause
// Teams, their members and their windows, as the files of this folder know them.
//
// A signal is a number in the memory of its target, which only its sender writes: it has been sent so often. So nothing
// is added up in memory that two could write, and the stream operations that every driver has suffice: a write in the
// order of the sender's stream, and a wait in that of the target's until the number is large enough. Where the sender's
// GPU does not reach the target's memory the number is written beside the data and copied after them.
#ifndef RGPU_TEAM_TEAM_PARTS_H
#define RGPU_TEAM_TEAM_PARTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "team-lib/driver_used.h"
#include "team-lib/failure.h"

struct team_member {
    CUcontext context; // on the member's GPU, in this process
    bool retained;     // the primary one of `device`, since the member is another process's
    bool here;         // of this process, by another team that it has of the same meeting
    CUdevice device;
    CUmodule kernels;    // reduce.ptx; of local members
    CUstream own;        // for what the library itself writes
    CUdeviceptr scratch; // of collectives
    unsigned int flush;  // CU_STREAM_WAIT_VALUE_FLUSH where writes of others may be late, or 0
    uint64_t passed;     // pieces sent around the ring
};

struct rgpu_team {
    pthread_mutex_t lock; // of all that follows and changes
    int size, first, local;
    struct team_member *members;
    bool *reaches;               // [local * size]: streams of the one write memory of the other
    struct rgpu_window *windows; // in the order of their making, the collectives' own first
    struct rgpu_window *own;
    struct company *company; // the processes; NULL: this one only
    bool lost;
    char why[240];       // where it is
    unsigned int let_go; // how often all waits have been let go
    // The thread that looks after what is queued; team_watch.c.
    pthread_t watcher;
    pthread_cond_t stir; // something has been queued, or the team ends
    bool watched, idle, ends;
};

// The part of one member.
struct window_side {
    CUdeviceptr base;
    size_t size;
    CUdeviceptr signals; // [size of the team][tags], by sender; as streams of this process reach it
    CUdeviceptr opened[2]; // memory of another process that `base` and `signals` lie in; 0: none
};

// One signal of one pair of members, at the end that is of this process.
struct signal_use {
    uint32_t count;        // that have been sent, or are waited for
    CUevent last;          // behind the last use; NULL: there was none
    unsigned long long in; // the stream of that
    bool pending;
    CUcontext context;            // of the event
    struct signal_use *next_used; // of those that ever were used
};

// What this process has to know of one of its members.
struct window_end {
    CUdeviceptr words;  // [size of the team][tags + 1]: numbers on their way to others, by target
    CUdeviceptr handle; // for kernels; 0: there is none
    bool
        is_far; // members of other boxes put into it by way of these: its number, and where kernels write
    uint32_t far;
    CUdeviceptr mailbox;
    struct signal_use *sent;    // likewise; the last one is for puts without a signal
    struct signal_use *awaited; // [size of the team][tags], by sender
};

struct rgpu_window {
    struct rgpu_team *team;
    int tags;
    struct window_side *sides; // [size of the team]
    struct window_end *ends;   // [local]
    struct signal_use *used;
    struct rgpu_window *next;
};

static inline bool team_is_local(const struct rgpu_team *team, int rank)
{
    return rank >= team->first && rank < team->first + team->local;
}

// Under the lock, as all that follows: RGPU_ERROR_LOST and why, or 0.
enum rgpu_result team_is_usable(const struct rgpu_team *team);
// A member's context becomes current until team_leave.
enum rgpu_result team_enter(const struct rgpu_team *team, int rank);
void team_leave(void);

#endif
