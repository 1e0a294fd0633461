// SPDX-License-Identifier: BSD-3-Clause
// Implements executable graphs: a plan, the values of its conditions, and the point of its last
// launch.
#ifndef SIM_GRAPH_EXEC_GRAPH_H
#define SIM_GRAPH_EXEC_GRAPH_H

#include "sim/graph/exec_plan.h"
#include "sim/code/launch.h"

struct exec {
    struct sim_object object;
    unsigned long long flags;
    struct exec_plan *plan; // current plan; under graph_mutex
    atomic_uint *values;    // values of the plan's slots in the running launch
    struct retained *users; // under graph_mutex
    // counted; set if the graph allows one executable graph only; under graph_mutex
    struct graph *single_graph;
    pthread_mutex_t launching; // held while a launch is queued; taken before graph_mutex
    struct stream *last;       // stream of the last launch; counted
    uint64_t last_sequence;
};

// Looks up an executable graph, borrowed under graph_mutex. Returns INVALID_VALUE.
CUresult exec_find(CUgraphExec handle, struct exec **out);

// Retains the user objects of the graph until the executable graph ends. Called under graph_mutex.
CUresult exec_copy_users(struct exec *exec, const struct graph *graph);
// Returns the plan for changes; queued launches keep the old plan. Called under graph_mutex.
CUresult exec_own_plan(struct exec *exec, struct exec_plan **out);

// A launch, from its queueing to its end.
struct graph_launch {
    struct operation operation;
    struct exec *exec;      // counted
    struct exec_plan *plan; // counted
    // For each node that records an event, its record; for each that waits, the awaited record.
    // NULL: finished.
    _Atomic(struct record *) *records;
    struct memory_claim *claim;
    struct context *context;             // of the launch's stream
    struct launch_conditions conditions; // for its kernels
};

// Runs a plan or a part of it on the calling thread and helpers.
CUresult run_plan(struct graph_launch *launch, const struct exec_plan *plan);

// Sets the value of a condition; kernels call it with the launch.
void launch_set_condition(void *launch, uint64_t handle, unsigned value);

// Completes the launch's remaining records, so that threads that wait for them continue.
void launch_finish_records(struct graph_launch *launch);

#endif
