// SPDX-License-Identifier: BSD-3-Clause
// Plan of an executable graph: the work of its nodes in a possible order, with dependencies. A plan
// that a launch uses never changes; updates change a copy.
#ifndef SIM_GRAPH_EXEC_PLAN_H
#define SIM_GRAPH_EXEC_PLAN_H

#include "sim/graph/graph.h"

#define NO_SLOT UINT32_MAX

struct exec_plan_node {
    struct node_step *step; // counted reference
    CUgraphNode handle;     // handle of the graph's node, which may be destroyed
    uint64_t id;            // id of the graph's node
    size_t *after;          // dependencies, as indexes into `nodes`
    CUgraphEdgeData *data;
    size_t after_count;
    size_t before_count;
    bool enabled;
    struct exec_plan **parts; // owned plans: of the child graph, or of the bodies
    unsigned part_count;
    unsigned slot;  // conditional node: index of its condition's slot
    unsigned event; // node that records or waits for an event: event number
    // stream without operations that completes the event's records (stream.h), counted
    struct stream *line;
};

// Initial value of a condition.
struct exec_plan_slot {
    uint64_t handle;
    unsigned value;
    bool assign; // assigned at each launch
};

struct exec_plan {
    atomic_int references; // counted for the outermost plan
    size_t count;
    struct exec_plan_node *nodes;
    // the outermost plan counts those of all parts
    unsigned event_count;
    struct exec_plan_slot *slots;
    unsigned slot_count;
};

// Creates the plan of a graph. If the graph cannot be instantiated, *error is the node at fault (or
// NULL) and *reason the cause. The caller holds graph_mutex.
CUresult exec_plan_create(struct graph *graph, struct exec_plan **out, struct node **error,
                          CUgraphInstantiateResult *reason);
struct exec_plan *exec_plan_hold(struct exec_plan *plan);
void exec_plan_put(struct exec_plan *plan);
CUresult exec_plan_copy(const struct exec_plan *plan, struct exec_plan **out);

// Returns the plan's node for the graph's node with that id, also within parts; NULL if there is
// none.
struct exec_plan_node *exec_plan_find(struct exec_plan *plan, uint64_t id);
// takes ownership of the step
void exec_plan_set_step(struct exec_plan_node *node, struct node_step *step);

// Calls VISIT for each node, also within parts, in a possible order of execution. Stops at the
// first error and returns it.
typedef CUresult (*exec_plan_visitor)(struct exec_plan_node *node, void *opaque);
CUresult exec_plan_visit(struct exec_plan *plan, exec_plan_visitor visit, void *opaque);

#endif
