// SPDX-License-Identifier: BSD-3-Clause
// Graph management: graphs, their edges, their allocations, and user objects that end with them.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/api/graph_handles.h"
#include "client-lib/cuda/work/callbacks.h"
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/work/graph_objects.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/descriptor.h"
#include "common/base/scope.h"

enum { EDGES_AT_ONCE = 2048 };

// Requests are in order, so the box forgets the graph's nodes before new objects can have their
// handles.
CUresult cuGraphDestroy(CUgraph hGraph)
{
    struct object *graph;
    CUresult result = graph_handle_find(HANDLE_GRAPH, hGraph, &graph);
    // A child graph belongs to its node, and a graph under capture to the stream.
    if (result == CUDA_SUCCESS &&
        (graph_object_owner(hGraph) || (captures_any() && captures_into((uintptr_t)hGraph))))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = remote_cuGraphDestroy(hGraph);
    if (result == CUDA_SUCCESS)
        graph_object_drop(hGraph);
    return result;
}

CUresult cuGraphDestroyNode(CUgraphNode hNode)
{
    CUresult result = remote_cuGraphDestroyNode(hNode);
    if (result == CUDA_SUCCESS)
        graph_object_drop(hNode);
    return result;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                CUgraph hClonedGraph)
{
    struct object *clone;
    uint64_t found = 0;
    GRAPH_FINDING(finding);
    CUresult result = graph_handle_find(HANDLE_GRAPH, hClonedGraph, &clone);
    if (result == CUDA_SUCCESS && !phNode)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = remote_graph_find_in_clone(hOriginalNode, hClonedGraph, &found);
    if (result == CUDA_SUCCESS)
        result = graph_name_found(clone->session, HANDLE_NODE, &found, 1, clone->handle);
    if (result == CUDA_SUCCESS)
        *phNode = (CUgraphNode)(uintptr_t)found;
    return result;
}

// ---- edges ----

static CUresult depend_some(const struct object *graph, const CUgraphNode *from,
                            const CUgraphNode *to, const CUgraphEdgeData *edges, size_t count,
                            bool remove)
{
    struct wire_edge wire[EDGES_AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        const struct object *a = object_find(HANDLE_NODE, from[i]);
        const struct object *b = object_find(HANDLE_NODE, to[i]);
        if (!a || !b || a->session != graph->session || b->session != graph->session)
            return CUDA_ERROR_INVALID_VALUE;
        wire[i] = (struct wire_edge){.from = a->handle, .to = b->handle};
        if (edges)
            wire[i].edge = edges[i];
    }
    return remote_graph_depend((CUgraph)(uintptr_t)graph->handle, remove, (uint32_t)count,
                               edges != NULL, wire, count * sizeof(wire[0]));
}

CUresult graph_depend(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                      const CUgraphEdgeData *edges, size_t count, bool remove)
{
    struct object *graph;
    CUresult result = graph_handle_find(HANDLE_GRAPH, hGraph, &graph);
    if (result == CUDA_SUCCESS && count && (!from || !to))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t done = 0; done < count && result == CUDA_SUCCESS; done += EDGES_AT_ONCE) {
        size_t now = count - done < EDGES_AT_ONCE ? count - done : EDGES_AT_ONCE;
        result =
            depend_some(graph, from + done, to + done, edges ? edges + done : NULL, now, remove);
    }
    return result;
}

// ---- memory ----

CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!object_out || !destroy || !initialRefcount || initialRefcount > INT32_MAX ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t callback = callback_destructor(context->session, destroy, ptr);
    if (!callback)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = remote_graph_user_object(object_out, callback, initialRefcount, flags);
    if (result != CUDA_SUCCESS)
        callback_drop(callback);
    else
        callback_names(callback, *object_out);
    return result;
}

// ---- output for debugging ----

static CUresult cu_graph_write_text(int fd, const char *text, size_t size)
{
    while (size) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno != EINTR)
            return CUDA_ERROR_OPERATING_SYSTEM;
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    struct object *graph;
    CUresult result = graph_handle_find(HANDLE_GRAPH, hGraph, &graph);
    if (result == CUDA_SUCCESS && !path)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_FREE char *text = malloc(WIRE_INLINE_MAX);
    SCOPED_FD int fd = descriptor_own(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    uint32_t total = 1;
    size_t used = 0;
    if (fd < 0 || !text)
        return fd < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t done = 0; done < total && result == CUDA_SUCCESS; done += (uint32_t)used) {
        result = remote_graph_dot(hGraph, flags, done, &total, text, WIRE_INLINE_MAX, &used);
        if (result == CUDA_SUCCESS)
            result = used ? cu_graph_write_text(fd, text, used) : CUDA_ERROR_UNKNOWN;
    }
    return result;
}
