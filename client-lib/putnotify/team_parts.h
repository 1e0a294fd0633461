// SPDX-License-Identifier: BSD-3-Clause
// The structures of teams, their members and their windows, for the files of this folder.
//
// A signal is a counter in the memory of its target. Only its sender writes it, so no atomic
// addition is needed, and the stream operations of every driver suffice: a write in the order of
// the sender's stream, and a wait in the target's stream until the counter is large enough. If the
// sender's GPU cannot write to the target's memory, the counter is written beside the data and
// copied after them.
#ifndef RGPU_TEAM_TEAM_PARTS_H
#define RGPU_TEAM_TEAM_PARTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver_prototypes.h"
#include "client-lib/putnotify/failure.h"

struct team_member {
    CUcontext context; // on the member's GPU, in this process
    bool retained;     // primary context of `device`, retained because the member is of another
                       // process
    bool here;         // of this process, which has another team of the same rendezvous
    CUdevice device;
    CUstream own;       // for the library's own writes
    unsigned int flush; // CU_STREAM_WAIT_VALUE_FLUSH if remote writes may arrive late, else 0
};

struct rgpu_team {
    pthread_mutex_t lock; // protects all members that change
    int size, first, local;
    struct team_member *members;
    bool *reaches;               // [local * size]: streams of the first may write memory of the
                                 // second
    struct rgpu_window *windows; // in the order of their creation, the barrier's own first
    struct rgpu_window *own;
    struct process_group *process_group; // the processes; NULL: only this one
    bool lost;
    char why[240];       // why it is lost
    unsigned int let_go; // number of times that all waits have been ended
    // The thread that watches queued work; team_watch.c.
    pthread_t watcher;
    pthread_cond_t stir; // work has been queued, or the team ends
    bool watched, idle, ends;
};

// One member's side of a window.
struct window_side {
    CUdeviceptr base;
    size_t size;
    CUdeviceptr signals;   // [size of the team][tags], by sender; the address for this process's
                           // streams
    CUdeviceptr opened[2]; // mapped memory of another process, for `base` and `signals`; 0: none
};

// The uses of one signal of one pair of members, at this process's end.
struct signal_use {
    uint32_t count;        // signals sent or awaited so far
    CUevent last;          // recorded after the last use; NULL: there was none
    unsigned long long in; // the id of that use's stream
    bool pending;
    CUcontext context;            // of the event `last`
    struct signal_use *next_used; // list of all signals that were ever used
};

// This process's data for one of its members.
struct window_end {
    CUdeviceptr words;  // [size of the team][tags + 1]: numbers in transit to others, by target
    CUdeviceptr handle; // for kernels; 0: there is none
    // other boxes put into the member's window by these: its number, and where its kernels write
    bool is_far;
    uint32_t far;
    CUdeviceptr proxy_queue;
    struct signal_use *sent;    // by target, as `words`; the last one is for puts without a signal
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

// Returns 0, or RGPU_ERROR_LOST with the reason as error text. The caller holds the lock here and
// below.
enum rgpu_result team_is_usable(const struct rgpu_team *team);
// Makes a member's context current until team_leave.
enum rgpu_result team_enter(const struct rgpu_team *team, int rank);
void team_leave(void);

#endif
