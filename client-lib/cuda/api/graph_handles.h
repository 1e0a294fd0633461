// SPDX-License-Identifier: BSD-3-Clause
// Functions that all graph calls use. Any thread may call.
#ifndef RGPU_CLIENT_GRAPH_HANDLES_H
#define RGPU_CLIENT_GRAPH_HANDLES_H

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/session/process.h"

// Finds the object of a graph, a node, an instantiated graph or a user object by its handle.
// Returns the driver's error if the process is not ready or the handle is wrong.
static inline CUresult graph_handle_find(enum handle_kind kind, const void *handle,
                                         struct object **object)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    *object = object_find(kind, handle);
    return *object ? CUDA_SUCCESS : wire_wrong_handle(kind);
}

// Packs COUNT dependencies into OUT for a request. EDGES may be NULL. Returns 0, or -1 if one of
// NODES is not a node of SESSION.
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
