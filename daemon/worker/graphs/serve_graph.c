// SPDX-License-Identifier: BSD-3-Clause
// Graphs: creation, destruction, edges, and queries.
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"
#include "daemon/worker/graphs/serve_graph.h"
#include "daemon/worker/graphs/graph_params.h"
#include "daemon/worker/graphs/graph_parts.h"
#include "worker_driver.h"
#include "worker_serve.h"

void serve_cuGraphCreate(struct serve *serve, const struct args_cuGraphCreate *args)
{
    CUgraph graph = NULL;

    serve_fail(serve, driver.cuGraphCreate(&graph, args->flags));
    if (!serve_failed(serve))
        part_bind(serve, HANDLE_GRAPH, args->phGraph, graph, 0);
}

void serve_cuGraphDestroy(struct serve *serve, const struct args_cuGraphDestroy *args,
                          CUgraph graph)
{
    if (part_owner(args->hGraph))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE); // it goes with the node that it is inside
    if (!serve_require(serve, driver.cuGraphDestroy))
        return;
    part_drop(args->hGraph, PART_WHOLE);
    serve_fail(serve, driver.cuGraphDestroy(graph));
}

void serve_cuGraphClone(struct serve *serve, const struct args_cuGraphClone *args)
{
    struct context_set needs = {0};
    CUgraph original = graph_that_lives(serve, args->originalGraph, &needs), clone = NULL;

    if (serve_require(serve, driver.cuGraphClone))
        serve_fail(serve, driver.cuGraphClone(&clone, original));
    if (!serve_failed(serve))
        part_bind(serve, HANDLE_GRAPH, args->phGraphClone, clone, 0);
    if (!serve_failed(serve) && !part_need(args->phGraphClone, &needs, PART_NEEDS_ONLY))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    context_set_clear(&needs);
}

void serve_cuGraphDestroyNode(struct serve *serve, const struct args_cuGraphDestroyNode *args,
                              CUgraphNode node)
{
    serve_fail(serve, driver.cuGraphDestroyNode(node));
    if (!serve_failed(serve))
        part_drop(args->hNode, PART_WHOLE);
}

void serve_graph_find_in_clone(struct serve *serve, const struct args_graph_find_in_clone *args,
                               struct reply_graph_find_in_clone *reply, CUgraph clone)
{
    CUgraphNode original = serve_handle(serve, HANDLE_NODE, args->original), found = NULL;

    if (!serve_require(serve, driver.cuGraphNodeFindInClone))
        return;
    serve_fail(serve, driver.cuGraphNodeFindInClone(&found, original, clone));
    if (!serve_failed(serve))
        reply->found = part_name(HANDLE_NODE, found, args->clone);
}

// ---- edges ----

bool dependencies_read(struct serve *serve, const void *data, uint32_t bytes, uint32_t count,
                       bool edges, struct dependencies *out)
{
    struct wire_dependency wire;

    if (count > DEPENDENCIES_MAX || bytes / sizeof(wire) < count)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (serve_failed(serve))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&wire, (const uint8_t *)data + i * sizeof(wire), sizeof(wire));
        out->nodes[i] = serve_handle(serve, HANDLE_NODE, wire.node);
        out->edges[i] = wire.edge;
    }
    out->count = count;
    out->with_edges = edges;
    return !serve_failed(serve);
}

void serve_graph_depend(struct serve *serve, const struct args_graph_depend *args, CUgraph graph)
{
    CUresult (*change)(CUgraph, const CUgraphNode *, const CUgraphNode *, const CUgraphEdgeData *,
                       size_t) = args->remove ? driver.cuGraphRemoveDependencies_v2
                                              : driver.cuGraphAddDependencies_v2;
    CUgraphNode from[DEPENDENCIES_MAX], to[DEPENDENCIES_MAX];
    CUgraphEdgeData edges[DEPENDENCIES_MAX];
    struct wire_edge wire;

    if (args->count > DEPENDENCIES_MAX || args->bytes != args->count * sizeof(wire))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    for (uint32_t i = 0; i < args->count && !serve_failed(serve); i++) {
        memcpy(&wire, (const uint8_t *)(args + 1) + i * sizeof(wire), sizeof(wire));
        from[i] = serve_handle(serve, HANDLE_NODE, wire.from);
        to[i] = serve_handle(serve, HANDLE_NODE, wire.to);
        edges[i] = wire.edge;
    }
    if (serve_require(serve, change))
        serve_fail(serve, change(graph, from, to, args->edges ? edges : NULL, args->count));
}

// ---- lists ----

// All that the driver lists: nodes, the other ends of edges, and the edges' data.
struct node_list {
    CUgraphNode *nodes, *to;
    CUgraphEdgeData *edges;
    size_t count;
};

static bool serve_graph_make_room(struct serve *serve, struct node_list *list, bool both,
                                  bool edges)
{
    size_t count = list->count ? list->count : 1;

    list->nodes = calloc(count, sizeof(CUgraphNode));
    list->to = both ? calloc(count, sizeof(CUgraphNode)) : NULL;
    list->edges = edges ? calloc(count, sizeof(CUgraphEdgeData)) : NULL;
    if (!list->nodes || (both && !list->to) || (edges && !list->edges))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    return !serve_failed(serve);
}

static void serve_graph_free_list(struct node_list *list)
{
    free(list->nodes);
    free(list->to);
    free(list->edges);
}

static void list_graph(struct serve *serve, CUgraph graph, uint32_t what, struct node_list *list)
{
    CUresult (*get)(CUgraph, CUgraphNode *, size_t *) =
        what == WIRE_GRAPH_NODES ? driver.cuGraphGetNodes : driver.cuGraphGetRootNodes;

    if (what == WIRE_GRAPH_EDGES) {
        if (!serve_require(serve, driver.cuGraphGetEdges_v2))
            return;
        serve_fail(serve, driver.cuGraphGetEdges_v2(graph, NULL, NULL, NULL, &list->count));
        if (!serve_failed(serve) && serve_graph_make_room(serve, list, true, true) && list->count)
            serve_fail(serve, driver.cuGraphGetEdges_v2(graph, list->nodes, list->to, list->edges,
                                                        &list->count));
        return;
    }
    if (!serve_require(serve, get))
        return;
    serve_fail(serve, get(graph, NULL, &list->count));
    if (!serve_failed(serve) && serve_graph_make_room(serve, list, false, false) && list->count)
        serve_fail(serve, get(graph, list->nodes, &list->count));
}

static void serve_graph_list_neighbours(struct serve *serve, CUgraphNode node, uint32_t what,
                                        struct node_list *list)
{
    CUresult (*get)(CUgraphNode, CUgraphNode *, CUgraphEdgeData *, size_t *) =
        what == WIRE_NODE_DEPENDENCIES ? driver.cuGraphNodeGetDependencies_v2
                                       : driver.cuGraphNodeGetDependentNodes_v2;

    if (!serve_require(serve, get))
        return;
    serve_fail(serve, get(node, NULL, NULL, &list->count));
    if (!serve_failed(serve) && serve_graph_make_room(serve, list, false, true) && list->count)
        serve_fail(serve, get(node, list->nodes, list->edges, &list->count));
}

// The entry number I as it travels; its size.
static size_t entry(const struct node_list *list, size_t i, uint64_t owner, void *at)
{
    uint64_t name = part_name(HANDLE_NODE, list->nodes[i], owner);

    if (list->to) {
        struct wire_edge edge = {name, part_name(HANDLE_NODE, list->to[i], owner), list->edges[i]};
        memcpy(at, &edge, sizeof(edge));
        return sizeof(edge);
    }
    if (list->edges) {
        struct wire_dependency dependency = {name, list->edges[i]};
        memcpy(at, &dependency, sizeof(dependency));
        return sizeof(dependency);
    }
    memcpy(at, &name, sizeof(name));
    return sizeof(name);
}

// Answers with as many entries from number FIRST on as there is room for.
static void serve_graph_answer(struct serve *serve, const struct node_list *list, uint32_t first,
                               uint32_t room, uint64_t owner)
{
    uint8_t *at = serve->bytes, *end = serve->bytes + serve_reply_room(serve, room);

    for (size_t i = first; i < list->count && at + sizeof(struct wire_edge) <= end; i++)
        at += entry(list, i, owner, at);
    serve_reply_bytes(serve, serve->bytes, (size_t)(at - serve->bytes));
}

void serve_graph_list(struct serve *serve, const struct args_graph_list *args,
                      struct reply_graph_list *reply, CUgraph graph)
{
    struct node_list list = {0};

    if (args->what > WIRE_GRAPH_EDGES)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve))
        list_graph(serve, graph, args->what, &list);
    if (!serve_failed(serve)) {
        reply->total = (uint32_t)list.count;
        serve_graph_answer(serve, &list, args->first, args->reply_room, args->graph);
    }
    serve_graph_free_list(&list);
}

static void answer_child(struct serve *serve, CUgraphNode node, uint64_t handle, uint32_t *total)
{
    CUgraph graph = NULL;

    if (!serve_require(serve, driver.cuGraphChildGraphNodeGetGraph))
        return;
    serve_fail(serve, driver.cuGraphChildGraphNodeGetGraph(node, &graph));
    if (serve_failed(serve))
        return;
    uint64_t name = part_name(HANDLE_GRAPH, graph, handle);
    *total = 1;
    serve_reply_bytes(serve, &name, sizeof(name));
}

void serve_graph_node_list(struct serve *serve, const struct args_graph_node_list *args,
                           struct reply_graph_node_list *reply, CUgraphNode node)
{
    struct node_list list = {0};

    if (args->what == WIRE_NODE_GRAPHS) {
        answer_child(serve, node, args->node, &reply->total);
        return;
    }
    if (args->what != WIRE_NODE_DEPENDENCIES && args->what != WIRE_NODE_DEPENDENTS)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else
        serve_graph_list_neighbours(serve, node, args->what, &list);
    if (!serve_failed(serve)) {
        reply->total = (uint32_t)list.count;
        serve_graph_answer(serve, &list, args->first, args->reply_room, part_owner(args->node));
    }
    serve_graph_free_list(&list);
}
