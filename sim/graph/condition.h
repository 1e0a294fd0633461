// SPDX-License-Identifier: BSD-3-Clause
// Conditions: values that kernels of a graph set and conditional nodes read. The graph owns the
// handle, the executable graph the value. A graph with conditions has at most one executable graph,
// and no clones.
#ifndef SIM_GRAPH_CONDITION_H
#define SIM_GRAPH_CONDITION_H

#include "sim/graph/graph.h"

struct graph_condition {
    struct graph_condition *next; // in the graph's list
    uint64_t handle;
    unsigned value; // initial value
    unsigned flags;
    bool used; // a conditional node refers to it
};

// Frees all conditions of a graph. The caller holds graph_mutex.
void condition_drop_all(struct graph *graph);

// Adds a conditional node and returns its body graphs in params->conditional.phGraph_out. *OUT is
// borrowed.
CUresult condition_add_node(struct graph *graph, CUgraphNodeParams *params, struct node **out);
// Returns NOT_SUPPORTED if bodies cannot contain nodes of this type.
CUresult condition_check_body(CUgraphNodeType type);

#endif
