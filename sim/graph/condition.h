// SPDX-License-Identifier: BSD-3-Clause
// Implements conditions: values that kernels of a graph set and that conditional nodes read. The
// executable graph owns the value, the graph owns the handle. A graph with conditions has at most
// one executable graph, and no clones.
#ifndef SIM_GRAPH_CONDITION_H
#define SIM_GRAPH_CONDITION_H

#include "sim/graph/graph.h"

struct graph_condition {
    struct graph_condition *next; // in the graph's list
    uint64_t handle;
    unsigned value; // initial value
    unsigned flags;
    bool used; // a conditional node uses it
};

// Drops all conditions of a graph. Called under graph_mutex.
void condition_drop_all(struct graph *graph);

// Adds a conditional node; params->conditional.phGraph_out receives its bodies. *out is borrowed.
CUresult condition_add_node(struct graph *graph, CUgraphNodeParams *params, struct node **out);
// Returns NOT_SUPPORTED if a body with this node type cannot be instantiated.
CUresult condition_check_body(CUgraphNodeType type);

#endif
