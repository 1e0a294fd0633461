// SPDX-License-Identifier: BSD-3-Clause
// Graph management: queries of a graph's contents. Objects in the box's answer that have no handle
// yet get one.
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/api/graph_handles.h"
#include "client-lib/cuda/work/graph_objects.h"
#include "client_calls.h"
#include "common/base/scope.h"

// A list that is fetched piece by piece.
struct list {
    uint64_t *nodes, *to; // handles; TO: of edges
    CUgraphEdgeData *edges;
    size_t count, room;
};

static void list_free(struct list *list)
{
    free(list->nodes);
    free(list->to);
    free(list->edges);
}
#define LIST __attribute__((cleanup(list_free))) struct list

static bool list_room(struct list *list, size_t count)
{
    list->nodes = calloc(count + 1, sizeof(*list->nodes));
    list->to = calloc(count + 1, sizeof(*list->to));
    list->edges = calloc(count + 1, sizeof(*list->edges));
    list->room = count;
    return list->nodes && list->to && list->edges;
}

static size_t entry_size(uint32_t what)
{
    switch (what) {
    case WIRE_GRAPH_EDGES: return sizeof(struct wire_edge);
    case WIRE_NODE_DEPENDENCIES:
    case WIRE_NODE_DEPENDENTS: return sizeof(struct wire_dependency);
    default: return sizeof(uint64_t);
    }
}

static void take_entry(struct list *list, uint32_t what, const uint8_t *at)
{
    size_t i = list->count++;
    memcpy(&list->nodes[i], at, sizeof(uint64_t));
    if (what == WIRE_GRAPH_EDGES) {
        memcpy(&list->to[i], at + offsetof(struct wire_edge, to), sizeof(uint64_t));
        memcpy(&list->edges[i], at + offsetof(struct wire_edge, edge), sizeof(CUgraphEdgeData));
    } else if (entry_size(what) > sizeof(uint64_t)) {
        memcpy(&list->edges[i], at + offsetof(struct wire_dependency, edge),
               sizeof(CUgraphEdgeData));
    }
}

static CUresult cu_graph_query_ask(struct object *of, uint32_t what, size_t first, uint32_t *total,
                                   void *bytes, size_t *used)
{
    void *handle = (void *)(uintptr_t)of->handle;
    return of->kind == HANDLE_GRAPH ? remote_graph_list(handle, what, (uint32_t)first, total, bytes,
                                                        WIRE_INLINE_MAX, used)
                                    : remote_graph_node_list(handle, what, (uint32_t)first, total,
                                                             bytes, WIRE_INLINE_MAX, used);
}

// Translates both ends of edges at once, because the box's node numbers are valid for one
// translation only.
static CUresult name_piece(struct object *of, struct list *list, size_t from, bool both)
{
    size_t count = list->count - from;
    uint64_t owner = of->kind == HANDLE_GRAPH ? of->handle
                                              : graph_object_owner((void *)(uintptr_t)of->handle);
    SCOPED_FREE uint64_t *names = malloc((2 * count + 1) * sizeof(*names));
    if (!names)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(names, list->nodes + from, count * sizeof(*names));
    memcpy(names + count, list->to + from, count * sizeof(*names));
    CUresult result =
        graph_name_found(of->session, HANDLE_NODE, names, both ? 2 * count : count, owner);
    memcpy(list->nodes + from, names, count * sizeof(*names));
    memcpy(list->to + from, names + count, count * sizeof(*names));
    return result;
}

static CUresult cu_graph_query_fetch(struct object *of, uint32_t what, struct list *list)
{
    SCOPED_FREE uint8_t *bytes = malloc(WIRE_INLINE_MAX);
    uint32_t total = 1;
    size_t used = 0, size = entry_size(what);
    if (!bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    GRAPH_FINDING(finding);
    do {
        size_t from = list->count;
        CUresult result = cu_graph_query_ask(of, what, from, &total, bytes, &used);
        if (result != CUDA_SUCCESS)
            return result;
        if (!list->room && !list_room(list, total))
            return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t at = 0; at + size <= used && list->count < list->room; at += size)
            take_entry(list, what, bytes + at);
        result = name_piece(of, list, from, what == WIRE_GRAPH_EDGES);
        if (result != CUDA_SUCCESS)
            return result;
    } while (used && list->count < list->room);
    return CUDA_SUCCESS;
}

// Copies the list as the driver does: as many entries as the array has room for, and NULL into the
// rest.
static void cu_graph_query_give(const uint64_t *from, size_t count, void **out, size_t room)
{
    for (size_t i = 0; out && i < room; i++)
        out[i] = i < count ? (void *)(uintptr_t)from[i] : NULL;
}

static bool any_data(const CUgraphEdgeData *edges, size_t count)
{
    static const CUgraphEdgeData none;
    for (size_t i = 0; i < count; i++)
        if (memcmp(&edges[i], &none, sizeof(none)) != 0)
            return true;
    return false;
}

// Returns the list to a caller with room for *COUNT entries in each array, or the count if there
// are no arrays. LOSSY: the caller has no array for edges' data.
static CUresult cu_graph_query_answer(const struct list *list, CUgraphNode *nodes, CUgraphNode *to,
                                      CUgraphEdgeData *edges, size_t *count, bool lossy)
{
    size_t room = *count, put = list->count < room ? list->count : room;
    if ((!nodes && edges) || (nodes && !room)) // the driver rejects arrays without room
        return CUDA_ERROR_INVALID_VALUE;
    if (lossy && nodes && any_data(list->edges, list->count))
        return CUDA_ERROR_LOSSY_QUERY;
    if (!nodes) {
        *count = list->count;
        return CUDA_SUCCESS;
    }
    cu_graph_query_give(list->nodes, list->count, (void **)nodes, room);
    cu_graph_query_give(list->to, list->count, (void **)to, room);
    for (size_t i = 0; edges && i < room; i++)
        edges[i] = i < put ? list->edges[i] : (CUgraphEdgeData){0};
    *count = put;
    return CUDA_SUCCESS;
}

static CUresult list_of(enum handle_kind kind, const void *handle, uint32_t what, size_t *count,
                        struct list *list)
{
    struct object *object;
    CUresult result = graph_handle_find(kind, handle, &object);
    if (result == CUDA_SUCCESS && !count)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? cu_graph_query_fetch(object, what, list) : result;
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    LIST list = {0};
    CUresult result = list_of(HANDLE_GRAPH, hGraph, WIRE_GRAPH_NODES, numNodes, &list);
    return result == CUDA_SUCCESS ? cu_graph_query_answer(&list, nodes, NULL, NULL, numNodes, false)
                                  : result;
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    LIST list = {0};
    CUresult result = list_of(HANDLE_GRAPH, hGraph, WIRE_GRAPH_ROOTS, numRootNodes, &list);
    return result == CUDA_SUCCESS
               ? cu_graph_query_answer(&list, rootNodes, NULL, NULL, numRootNodes, false)
               : result;
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edges, size_t *count)
{
    LIST list = {0};
    if (!from != !to)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = list_of(HANDLE_GRAPH, graph, WIRE_GRAPH_EDGES, count, &list);
    return result == CUDA_SUCCESS ? cu_graph_query_answer(&list, from, to, edges, count, !edges)
                                  : result;
}

CUresult graph_neighbours(CUgraphNode node, uint32_t what, CUgraphNode *out, CUgraphEdgeData *edges,
                          size_t *count)
{
    LIST list = {0};
    CUresult result = list_of(HANDLE_NODE, node, what, count, &list);
    return result == CUDA_SUCCESS ? cu_graph_query_answer(&list, out, NULL, edges, count, !edges)
                                  : result;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    struct object *node;
    uint64_t graph = 0;
    uint32_t total;
    size_t used = 0;
    CUresult result = graph_handle_find(HANDLE_NODE, hNode, &node);
    if (result == CUDA_SUCCESS && !phGraph)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    GRAPH_FINDING(finding);
    result =
        remote_graph_node_list(hNode, WIRE_NODE_GRAPHS, 0, &total, &graph, sizeof(graph), &used);
    if (result == CUDA_SUCCESS)
        result = graph_name_found(node->session, HANDLE_GRAPH, &graph, 1, node->handle);
    if (result == CUDA_SUCCESS)
        *phGraph = (CUgraph)(uintptr_t)graph;
    return result;
}
