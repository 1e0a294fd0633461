// SPDX-License-Identifier: BSD-3-Clause
// What an executable graph runs: the steps of a graph's nodes in an order in which they can run, and
// who waits for whom. A plan that a launch holds does not change: who updates it works on a copy.
#ifndef SIM_GRAPH_EXEC_PLAN_H
#define SIM_GRAPH_EXEC_PLAN_H

#include "sim/graph/graph.h"

#define NO_SLOT UINT32_MAX

struct exec_plan_node {
    struct node_step *step; // counted
    CUgraphNode handle;     // of the node that it was made of, which may be gone
    uint64_t id;            // of the same
    size_t *after;          // indices
    CUgraphEdgeData *data;
    size_t after_count;
    size_t before_count;
    bool enabled;
    struct exec_plan **parts; // owned: a child graph, or bodies
    unsigned part_count;
    unsigned slot;       // of a conditional node: which value decides
    unsigned event;      // of one that records or waits: its place among those
    struct stream *line; // that records of the event are points of; counted
};

// The value of a condition when a launch begins.
struct exec_plan_slot {
    uint64_t handle;
    unsigned value;
    bool assign; // anew at each launch
};

struct exec_plan {
    atomic_int references; // of the root
    size_t count;
    struct exec_plan_node *nodes;
    // of the root, for all of the parts
    unsigned event_count;
    struct exec_plan_slot *slots;
    unsigned slot_count;
};

// Under graph_mutex. Where a graph cannot be instantiated, *error is the node that is to blame (NULL:
// none) and *reason says why.
CUresult exec_plan_create(struct graph *graph, struct exec_plan **out, struct node **error,
                          CUgraphInstantiateResult *reason);
struct exec_plan *exec_plan_hold(struct exec_plan *plan);
void exec_plan_put(struct exec_plan *plan);
CUresult exec_plan_copy(const struct exec_plan *plan, struct exec_plan **out);

// The node that came of a graph's node, also in a part; NULL.
struct exec_plan_node *exec_plan_find(struct exec_plan *plan, uint64_t id);
void exec_plan_set_step(struct exec_plan_node *node, struct node_step *step); // takes it over

// Calls visit for every node, parts included, in an order in which they could run.
typedef CUresult (*exec_plan_visitor)(struct exec_plan_node *node, void *opaque);
CUresult exec_plan_visit(struct exec_plan *plan, exec_plan_visitor visit, void *opaque);

#endif
