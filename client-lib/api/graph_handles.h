// SPDX-License-Identifier: BSD-3-Clause
// What the calls of graphs have in common.
#ifndef RGPU_CLIENT_GRAPH_HANDLES_H
#define RGPU_CLIENT_GRAPH_HANDLES_H

#include "client-lib/objects/object.h"
#include "client-lib/session/process.h"

// The object behind a graph, a node, an instantiated graph or a user object.
static inline CUresult graph_handle_find(enum handle_kind kind, const void *handle,
                                         struct object **object)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    *object = object_find(kind, handle);
    return *object ? CUDA_SUCCESS : wire_wrong_handle(kind);
}

// Dependencies as they travel; -1: one is no node of SESSION.
static inline int graph_pack_dependencies(const struct box_session *session,
                                          const CUgraphNode *nodes, const CUgraphEdgeData *edges,
                                          size_t count, struct wire_dependency *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct object *node = object_find(HANDLE_NODE, nodes[i]);
        if (!node || node->session != session)
            return -1;
        out[i] = (struct wire_dependency){.node = node->handle};
        if (edges)
            out[i].edge = edges[i];
    }
    return 0;
}

#endif
