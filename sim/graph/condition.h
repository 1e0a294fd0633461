// SPDX-License-Identifier: BSD-3-Clause
// Conditions: values that kernels of a graph set and conditional nodes act upon. A handle is the same
// in every executable graph of the graph, the value is each one's own.
#ifndef SIM_GRAPH_CONDITION_H
#define SIM_GRAPH_CONDITION_H

#include "sim/graph/graph.h"

struct exec_plan_slot;

struct graph_condition {
    struct graph_condition *next; // of the graph's
    uint64_t handle;
    unsigned value; // at the beginning
    unsigned flags;
    bool used; // by a conditional node
};

// Under graph_mutex.
CUresult condition_add(struct graph *graph, const struct exec_plan_slot *slot); // a used one
CUresult condition_copy_all(const struct graph *from, struct graph *to);
void condition_drop_all(struct graph *graph);

// A conditional node; params->conditional.phGraph_out becomes its bodies. *out is borrowed.
CUresult condition_add_node(struct graph *graph, CUgraphNodeParams *params, struct node **out);
// What may not be in a body, or in any graph: NOT_SUPPORTED.
CUresult condition_check_body(const struct graph *graph, CUgraphNodeType type);

#endif
