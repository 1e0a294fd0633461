// SPDX-License-Identifier: BSD-3-Clause
// Nodes of every kind, made of parameters.
#ifndef SIM_GRAPH_NODE_ADD_H
#define SIM_GRAPH_NODE_ADD_H

#include "sim/graph/graph.h"

// Under graph_mutex. A node without edges; what the driver chooses (an address, the graphs of a
// condition's bodies) comes back in the parameters. *out is borrowed.
CUresult node_create(struct graph *graph, CUgraphNodeParams *params,
                     const struct step_attributes *attributes, struct node **out);

#endif
