// SPDX-License-Identifier: BSD-3-Clause
// Creates nodes of every kind from parameters.
#ifndef SIM_GRAPH_NODE_ADD_H
#define SIM_GRAPH_NODE_ADD_H

#include "sim/graph/graph.h"

// Creates a node without edges. Values that the driver chooses (an address, the bodies of a
// condition) are returned in the parameters. *out is borrowed. Called under graph_mutex.
CUresult node_create(struct graph *graph, CUgraphNodeParams *params,
                     const struct step_attributes *attributes, struct node **out);

#endif
