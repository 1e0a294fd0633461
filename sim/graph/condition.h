// SPDX-License-Identifier: BSD-3-Clause
// Conditions: values that kernels of a graph set and conditional nodes act upon. The value is the
// executable graph's, the handle is the graph's; a graph with conditions has one executable graph at a
// time, and no clones.
#ifndef SIM_GRAPH_CONDITION_H
#define SIM_GRAPH_CONDITION_H

#include "sim/graph/graph.h"

struct graph_condition {
    struct graph_condition *next; // of the graph's
    uint64_t handle;
    unsigned value; // at the beginning
    unsigned flags;
    bool used; // by a conditional node
};

// Under graph_mutex.
void condition_drop_all(struct graph *graph);

// A conditional node; params->conditional.phGraph_out becomes its bodies. *out is borrowed.
CUresult condition_add_node(struct graph *graph, CUgraphNodeParams *params, struct node **out);
// NOT_SUPPORTED for what a body may not have when it is instantiated.
CUresult condition_check_body(CUgraphNodeType type);

#endif
