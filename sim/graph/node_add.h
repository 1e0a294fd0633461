// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_GRAPH_NODE_ADD_H
#define SIM_GRAPH_NODE_ADD_H

#include "sim/graph/graph.h"

// Creates a node of any kind, without edges. Output values (an address, the bodies of a condition)
// are returned in PARAMS. *OUT is borrowed. The caller holds graph_mutex.
CUresult node_create(struct graph *graph, CUgraphNodeParams *params,
                     const struct step_attributes *attributes, struct node **out);

#endif
