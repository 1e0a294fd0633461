// SPDX-License-Identifier: BSD-3-Clause
// Visits the nodes of a graph, including those of graphs inside it. Thread-safe.
#ifndef RGPU_WORKER_GRAPH_WALK_H
#define RGPU_WORKER_GRAPH_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "worker_driver.h"

struct graph_visitor {
    // called for each graph with nodes; may be NULL
    CUresult (*graph)(CUgraph graph, void *argument);
    CUresult (*node)(CUgraphNode node, CUgraphNodeType type, void *argument);
    void *argument;
};

// Sets a function that lists the bodies of a conditional node, which the driver does not return.
// BODIES_OF stores at most ROOM of them and returns their number. Must be called before requests
// are served.
typedef size_t graph_bodies_of(CUgraphNode node, CUgraph *bodies, size_t room);
void graph_walk_prepare(graph_bodies_of *bodies_of);
// Returns true if the driver has the required functions.
bool graph_can_walk(void);
// Returns the first error of a visit or of the driver; NOT_SUPPORTED if graphs are nested too
// deeply.
CUresult graph_walk(CUgraph graph, const struct graph_visitor *visitor);

#endif
