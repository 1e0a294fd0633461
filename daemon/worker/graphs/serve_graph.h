// SPDX-License-Identifier: BSD-3-Clause
// Dependencies of a node, which precede the other data of a request.
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

// Parses them. Returns false with an error noted.
bool dependencies_read(struct serve *serve, const void *data, uint32_t bytes, uint32_t count,
                       bool edges, struct dependencies *out);

#endif
