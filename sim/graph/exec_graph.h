// SPDX-License-Identifier: BSD-3-Clause
// Executable graphs: a plan, the values of its conditions, and the point of the last launch.
#ifndef SIM_GRAPH_EXEC_GRAPH_H
#define SIM_GRAPH_EXEC_GRAPH_H

#include "sim/graph/exec_plan.h"
#include "sim/code/launch.h"

struct exec {
    struct sim_object object;
    unsigned long long flags;
    struct exec_plan *plan; // current plan; guarded by graph_mutex
    atomic_uint *values;    // values of the plan's conditions, by slot, during a launch
    struct retained *users; // guarded by graph_mutex
    // counted; set if the graph may have only one executable graph; guarded by graph_mutex
    struct graph *single_graph;
    pthread_mutex_t launching; // held while a launch is queued; locked before graph_mutex
    struct stream *last;       // stream of the last launch, counted reference
    uint64_t last_sequence;
};

// Returns the executable graph of a handle, borrowed while the caller holds graph_mutex. Returns
// INVALID_VALUE.
CUresult exec_find(CUgraphExec handle, struct exec **out);

// Adds references to the graph's user objects, dropped when the executable graph ends. The caller
// holds graph_mutex.
CUresult exec_copy_users(struct exec *exec, const struct graph *graph);
// Returns a plan that the caller may change: a copy if queued launches use the present plan. The
// caller holds graph_mutex.
CUresult exec_own_plan(struct exec *exec, struct exec_plan **out);

// A launch, from the call until its work is done.
struct graph_launch {
    struct operation operation;
    struct exec *exec;      // counted reference
    struct exec_plan *plan; // counted reference
    // By event number of the plan: the record that a node makes or waits for; NULL once finished.
    _Atomic(struct record *) *records;
    struct memory_claim *claim;
    struct context *context;             // context of the stream
    struct launch_conditions conditions; // receives the conditions that its kernels set
};

// Runs a plan, or a part of a plan, on the calling thread and additional threads.
CUresult run_plan(struct graph_launch *launch, const struct exec_plan *plan);

// Sets the value of a condition. LAUNCH is a struct graph_launch.
void launch_set_condition(void *launch, uint64_t handle, unsigned value);

// Completes the records that no node has made, so that no thread waits for them forever.
void launch_finish_records(struct graph_launch *launch);

#endif
