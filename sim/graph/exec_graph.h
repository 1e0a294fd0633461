// SPDX-License-Identifier: BSD-3-Clause
// Executable graphs: a plan, the values of its conditions, and where its last launch is.
#ifndef SIM_GRAPH_EXEC_GRAPH_H
#define SIM_GRAPH_EXEC_GRAPH_H

#include "sim/graph/exec_plan.h"
#include "sim/launch.h"

struct exec {
    struct sim_object object;
    unsigned long long flags;
    struct exec_plan *plan;     // the present one; under graph_mutex
    atomic_uint *values;        // of the plan's slots: of the launch that runs
    struct retained *users;     // under graph_mutex
    struct graph *single_graph; // counted, where it allows no second one; under graph_mutex
    pthread_mutex_t launching;  // held while a launch is queued; taken before graph_mutex
    struct stream *last;        // where the last launch is; counted
    uint64_t last_sequence;
};

// By handle, borrowed under graph_mutex. INVALID_VALUE.
CUresult exec_find(CUgraphExec handle, struct exec **out);

// Under graph_mutex: it retains the user objects of the graph, too, until it ends.
CUresult exec_copy_users(struct exec *exec, const struct graph *graph);
// Under graph_mutex: the plan, to be changed; launches that are queued keep the old one.
CUresult exec_own_plan(struct exec *exec, struct exec_plan **out);

// One launch, from its queueing to its end.
struct graph_launch {
    struct operation operation;
    struct exec *exec;      // counted
    struct exec_plan *plan; // counted
    // For each node that records an event: the record that it comes to; for each that waits: the
    // record that it waits for. NULL: done with.
    _Atomic(struct record *) *records;
    struct memory_claim *claim;
    struct context *context;             // of the stream that it is in
    struct launch_conditions conditions; // for its kernels
};

// Runs all of the plan, or of a part of it, on the calling thread and some more.
CUresult run_plan(struct graph_launch *launch, const struct exec_plan *plan);

// What kernels call, with the launch: the value of a condition.
void launch_set_condition(void *launch, uint64_t handle, unsigned value);

// Goes on for everybody who waits for this launch's records: they will not come about otherwise.
void launch_finish_records(struct graph_launch *launch);

#endif
