// SPDX-License-Identifier: BSD-3-Clause
// Lists nodes and edges of graphs. Each call fills an array of the program and clears the rest of
// it; without an array it returns the number of entries.
#include <string.h>

#include "sim/graph/graph.h"

// The array that receives nodes one by one.
struct listing {
    CUgraphNode *nodes;
    size_t room;
    size_t count;
};

static void graph_query_list(struct listing *listing, const struct node *node)
{
    if (listing->nodes && listing->count < listing->room)
        listing->nodes[listing->count] = node_handle(node);
    listing->count++;
}

static void end_list(const struct listing *listing, size_t *count)
{
    for (size_t i = listing->count; listing->nodes && i < listing->room; i++)
        listing->nodes[i] = NULL;
    if (!listing->nodes || listing->count < listing->room)
        *count = listing->count;
}

// Returns true for an array of size 0, which drivers refuse.
static bool no_room(CUgraphNode *nodes, size_t room)
{
    return nodes && !room;
}

static CUresult list_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count, bool roots)
{
    struct graph *graph;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(handle, &graph));
    SIM_RETURN_IF(!count || no_room(nodes, *count), CUDA_ERROR_INVALID_VALUE);
    struct listing listing = {nodes, *count, 0};
    for (size_t i = 0; i < graph->node_count; i++)
        if (!roots || !graph->nodes[i]->before.count)
            graph_query_list(&listing, graph->nodes[i]);
    end_list(&listing, count);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphGetNodes, CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, false);
}

SIM_API(cuGraphGetRootNodes, CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, true);
}

static bool graph_query_is_plain(const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData plain;
    return !memcmp(data, &plain, sizeof(plain));
}

// Stores edge data. Returns an error if the program's arrays lack space for data that are not
// plain.
static CUresult put_data(CUgraphEdgeData *out, bool wanted, size_t at, size_t room,
                         const CUgraphEdgeData *data)
{
    if (at >= room || !wanted)
        return CUDA_SUCCESS;
    SIM_RETURN_IF(!out && !graph_query_is_plain(data), CUDA_ERROR_LOSSY_QUERY);
    if (out)
        out[at] = *data;
    return CUDA_SUCCESS;
}

static void end_data(CUgraphEdgeData *out, size_t count, size_t room)
{
    if (out && count < room)
        memset(&out[count], 0, (room - count) * sizeof(*out));
}

SIM_API(cuGraphGetEdges_v2, CUgraph handle, CUgraphNode *from, CUgraphNode *to,
        CUgraphEdgeData *data, size_t *count)
{
    struct graph *graph;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(handle, &graph));
    SIM_RETURN_IF(!count || !from != !to || (data && !from) || no_room(from, *count),
                  CUDA_ERROR_INVALID_VALUE);
    struct listing starts = {from, *count, 0}, ends = {to, *count, 0};
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct edge_list *after = &graph->nodes[i]->after;
        for (size_t e = 0; e < after->count; e++) {
            SIM_TRY(put_data(data, from, starts.count, starts.room, &after->items[e].data));
            graph_query_list(&starts, graph->nodes[i]);
            graph_query_list(&ends, after->items[e].node);
        }
    }
    end_data(data, starts.count, starts.room);
    end_list(&starts, count);
    end_list(&ends, count);
    return CUDA_SUCCESS;
}

static CUresult graph_query_list_neighbours(CUgraphNode handle, CUgraphNode *nodes,
                                            CUgraphEdgeData *data, size_t *count, bool before)
{
    struct node *node;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(node_find(handle, &node));
    SIM_RETURN_IF(!count || (data && !nodes) || no_room(nodes, *count), CUDA_ERROR_INVALID_VALUE);
    const struct edge_list *edges = before ? &node->before : &node->after;
    struct listing listing = {nodes, *count, 0};
    for (size_t i = 0; i < edges->count; i++) {
        SIM_TRY(put_data(data, nodes, i, listing.room, &edges->items[i].data));
        graph_query_list(&listing, edges->items[i].node);
    }
    end_data(data, listing.count, listing.room);
    end_list(&listing, count);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeGetDependencies_v2, CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data,
        size_t *count)
{
    return graph_query_list_neighbours(node, nodes, data, count, true);
}

SIM_API(cuGraphNodeGetDependentNodes_v2, CUgraphNode node, CUgraphNode *nodes,
        CUgraphEdgeData *data, size_t *count)
{
    return graph_query_list_neighbours(node, nodes, data, count, false);
}

SIM_API(cuGraphNodeGetType, CUgraphNode handle, CUgraphNodeType *type)
{
    struct node *node;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(node_find(handle, &node));
    SIM_RETURN_IF(!type, CUDA_ERROR_INVALID_VALUE);
    *type = node_type(node);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphChildGraphNodeGetGraph, CUgraphNode handle, CUgraph *graph)
{
    struct node *node;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(node_find(handle, &node));
    SIM_RETURN_IF(!graph || node_type(node) != CU_GRAPH_NODE_TYPE_GRAPH, CUDA_ERROR_INVALID_VALUE);
    *graph = graph_handle(node->parts[0]);
    return CUDA_SUCCESS;
}
