// SPDX-License-Identifier: BSD-3-Clause
// A graph and the graphs inside of it, node after node (graph_walk.c). Any thread may call.
#ifndef RGPU_WORKER_GRAPH_WALK_H
#define RGPU_WORKER_GRAPH_WALK_H

#include <stdbool.h>

#include "worker_driver.h"

struct graph_visitor {
    CUresult (*graph)(CUgraph graph, void *argument); // each graph that has nodes; may be NULL
    CUresult (*node)(CUgraphNode node, CUgraphNodeType type, void *argument);
    void *argument;
};

// Returns true if the driver has the calls for it.
bool graph_can_walk(void);
// Returns the first failure of a visit or of the driver; NOT_SUPPORTED for graphs inside graphs that are too many.
CUresult graph_walk(CUgraph graph, const struct graph_visitor *visitor);

#endif
