// SPDX-License-Identifier: BSD-3-Clause
// The structures of teams, their members and their windows, for the files of this folder.
//
// A signal is a 32-bit counter in the memory of its target. Only its sender writes the counter, so
// no atomic addition is needed, and the stream operations of every driver suffice: the sender's
// stream writes the next number, and the target's stream waits until the counter is large enough.
// If the sender's GPU cannot write to the target's memory, its stream writes the number to `words`
// in its own memory, and then copies it to the target after the data.
//
// "Local" members are those of this process, numbered from 0 in arrays; ranks count all members.
#ifndef RGPU_TEAM_TEAM_PARTS_H
#define RGPU_TEAM_TEAM_PARTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver_prototypes.h"
#include "client-lib/putnotify/failure.h"

struct team_member {
    CUcontext context; // of this process, on the member's GPU; of other processes' members NULL, or
                       // the primary context of `device`, which the team releases
    bool retained;     // the latter
    bool here;         // the member belongs to another team handle of this process
    CUdevice device;
    CUstream own; // stream for the library's own writes; NULL without a context
    // Only of local members: stream and event for puts in the legacy default stream.
    CUstream aside;
    CUevent turn;
    unsigned int flush; // CU_STREAM_WAIT_VALUE_FLUSH if the GPU needs it for waits, else 0
};

struct rgpu_team {
    pthread_mutex_t lock;        // protects all members that change
    int size, first, local;      // members of the team, first local member, number of local members
    struct team_member *members; // [size]
    bool *reaches; // [local][size]: streams of the local member can write memory of the other's
                   // context
    struct rgpu_window *windows;         // list in the order of creation, beginning with `own`
    struct rgpu_window *own;             // the barrier's (team_barrier.h)
    struct process_group *process_group; // NULL: all members are local
    bool lost;                           // a member is gone, or the team was aborted
    char why[240];                       // reason of the loss
    unsigned int let_go;                 // number of attempts to end all waits, after the loss
    // The thread that watches queued work; team_watch.c.
    pthread_t watcher;
    pthread_cond_t stir;      // signalled when work is queued, the team is lost, or the team ends
    bool watched, idle, ends; // the thread runs; it sleeps without pending work; it has to end
};

// One member's part of a window, as streams of one local member address it.
struct window_side {
    CUcontext context; // to which the addresses belong
    CUdeviceptr base;
    size_t size;           // bytes
    CUdeviceptr signals;   // uint32_t [size of the team][tags], by sender
    CUdeviceptr opened[2]; // mapped memory of another process, for `base` and `signals`; 0: none
};

// The use of one signal between two members by this process, which sends it or waits for it.
struct signal_use {
    uint32_t count;               // number of signals sent or awaited since the window was made
    CUevent last;                 // recorded after the last use; NULL: none
    unsigned long long in;        // id of the last use's stream
    bool pending;                 // `last` has not been seen to be complete
    CUcontext context;            // of the event `last`
    struct signal_use *next_used; // list of all that were ever used, from `used` of the window
};

// The data of this process for a window and one local member.
struct window_end {
    CUdeviceptr words;  // uint32_t [size of the team][tags + 1], by target: numbers to be copied
    CUdeviceptr handle; // the kernels' argument (rgpu_device.h), device memory; 0: none
    bool is_far;        // the box puts for the member's kernels; the next two are valid
    uint32_t far;       // number of the member's window on its box
    CUdeviceptr proxy_queue;    // where the member's kernels write put requests
    struct signal_use *sent;    // [size of the team][tags + 1], by target; the last is for puts
                                // without a signal
    struct signal_use *awaited; // [size of the team][tags], by sender
};

struct rgpu_window {
    struct rgpu_team *team;
    int tags;                  // number of signals from each member to each other
    struct window_side *sides; // [local][size of the team]
    struct window_end *ends;   // [local]
    struct signal_use *used;   // list by `next_used`
    struct rgpu_window *next;  // list of the team's windows
};

static inline bool team_is_local(const struct rgpu_team *team, int rank)
{
    return rank >= team->first && rank < team->first + team->local;
}

// Returns RGPU_SUCCESS, or RGPU_ERROR_LOST with the reason as error text. The caller of this and
// the next two functions holds the team's lock.
enum rgpu_result team_is_usable(const struct rgpu_team *team);
// Makes a member's context current until team_leave, unless it returns an error.
enum rgpu_result team_enter(const struct rgpu_team *team, int rank);
void team_leave(void);
// Retains the context of another process's member, unless that has been done.
enum rgpu_result team_retain(struct rgpu_team *team, int rank);

// The part of member TO as member FROM of this process addresses it.
static inline struct window_side *window_side(const struct rgpu_window *window, int from, int to)
{
    const struct rgpu_team *team = window->team;
    return &window->sides[(from - team->first) * team->size + to];
}

#endif
