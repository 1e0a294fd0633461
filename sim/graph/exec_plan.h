// SPDX-License-Identifier: BSD-3-Clause
// Defines the plan of an executable graph: the steps of a graph's nodes in an order in which they
// can run, with their dependencies. A plan that a launch holds never changes; an update works on a
// copy.
#ifndef SIM_GRAPH_EXEC_PLAN_H
#define SIM_GRAPH_EXEC_PLAN_H

#include "sim/graph/graph.h"

#define NO_SLOT UINT32_MAX

struct exec_plan_node {
    struct node_step *step; // counted
    CUgraphNode handle;     // of the original node, which may be destroyed
    uint64_t id;            // of the original node
    size_t *after;          // indices
    CUgraphEdgeData *data;
    size_t after_count;
    size_t before_count;
    bool enabled;
    struct exec_plan **parts; // owned: a child graph, or bodies
    unsigned part_count;
    unsigned slot;       // of a conditional node: index of its value
    unsigned event;      // of a node that records or waits: its index among those
    struct stream *line; // counting stream for the event's records; counted
};

// A condition's value at the begin of a launch.
struct exec_plan_slot {
    uint64_t handle;
    unsigned value;
    bool assign; // set again at each launch
};

struct exec_plan {
    atomic_int references; // of the root
    size_t count;
    struct exec_plan_node *nodes;
    // in the root plan, for all parts
    unsigned event_count;
    struct exec_plan_slot *slots;
    unsigned slot_count;
};

// Creates the plan of a graph. If the graph cannot be instantiated, *error is the offending node
// (NULL: none) and *reason the cause. Called under graph_mutex.
CUresult exec_plan_create(struct graph *graph, struct exec_plan **out, struct node **error,
                          CUgraphInstantiateResult *reason);
struct exec_plan *exec_plan_hold(struct exec_plan *plan);
void exec_plan_put(struct exec_plan *plan);
CUresult exec_plan_copy(const struct exec_plan *plan, struct exec_plan **out);

// Returns the plan node of a graph's node, also in parts, or NULL.
struct exec_plan_node *exec_plan_find(struct exec_plan *plan, uint64_t id);
void exec_plan_set_step(struct exec_plan_node *node, struct node_step *step); // takes over the step

// Calls visit for every node, parts included, in an order in which they could run.
typedef CUresult (*exec_plan_visitor)(struct exec_plan_node *node, void *opaque);
CUresult exec_plan_visit(struct exec_plan *plan, exec_plan_visitor visit, void *opaque);

#endif
