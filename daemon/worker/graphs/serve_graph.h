// SPDX-License-Identifier: BSD-3-Clause
// The dependencies of a node, which precede the data of a request (serve_graph.c).
#ifndef RGPU_WORKER_SERVE_GRAPH_H
#define RGPU_WORKER_SERVE_GRAPH_H

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

enum { DEPENDENCIES_MAX = 4096 };

struct dependencies {
    CUgraphNode nodes[DEPENDENCIES_MAX];
    CUgraphEdgeData edges[DEPENDENCIES_MAX];
    uint32_t count;
    bool with_edges;
};

// Reads them into OUT. Returns false after noting an error.
bool dependencies_read(struct serve *serve, const void *data, uint32_t bytes, uint32_t count,
                       bool edges, struct dependencies *out);

#endif
