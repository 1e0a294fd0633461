// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_SERVE_GRAPH_NODE_H
#define RGPU_WORKER_SERVE_GRAPH_NODE_H

#include "daemon/worker/graphs/graph_params.h"
#include "daemon/worker/graphs/serve_graph.h"

// Adds a copy of memory that is not mapped, to a graph or in a capture. Takes ownership of the call
// in PARAMS.
void graph_add_copy(struct serve *serve, CUgraphNode *node, CUgraph graph,
                    const struct dependencies *after, struct node_params *params);

#endif
