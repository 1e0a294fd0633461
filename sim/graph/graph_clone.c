// SPDX-License-Identifier: BSD-3-Clause
// Clones graphs, and implements the calls that create, clone and destroy graphs.

#include "sim/graph/graph.h"
#include "sim/graph/user_object.h"

static CUresult clone_parts(const struct node *from, struct node *to)
{
    for (unsigned i = 0; i < from->part_count; i++) {
        struct graph *part;
        SIM_TRY(graph_clone(from->parts[i], &part));
        SIM_TRY(node_add_part(to, part));
    }
    return CUDA_SUCCESS;
}

// Gives the clone's nodes the indices of the originals.
static CUresult clone_into(const struct graph *from, struct graph *to)
{
    to->origin = from->id;
    to->is_body = from->is_body;
    SIM_TRY(users_copy(from->users, &to->users));
    for (size_t i = 0; i < from->node_count; i++) {
        struct node *made;
        from->nodes[i]->place = i;
        SIM_TRY(node_add(to, step_hold(from->nodes[i]->step), &made));
        made->origin = from->nodes[i]->id;
        SIM_TRY(clone_parts(from->nodes[i], made));
    }
    for (size_t i = 0; i < from->node_count; i++) {
        const struct edge_list *after = &from->nodes[i]->after;
        for (size_t e = 0; e < after->count; e++)
            SIM_TRY(edge_add(to->nodes[i], to->nodes[after->items[e].node->place],
                             &after->items[e].data));
    }
    return CUDA_SUCCESS;
}

CUresult graph_clone(const struct graph *graph, struct graph **out)
{
    struct graph *clone;
    SIM_RETURN_IF(graph->memory_nodes || graph->conditions, CUDA_ERROR_NOT_SUPPORTED);
    SIM_TRY(graph_create(&clone));
    CUresult result = clone_into(graph, clone);
    if (result)
        graph_destroy(clone);
    else
        *out = clone;
    return result;
}

SIM_API(cuGraphCreate, CUgraph *out, unsigned int flags)
{
    struct graph *graph;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || flags, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_create(&graph));
    *out = graph_handle(graph);
    return CUDA_SUCCESS;
}

// Rejects a graph that is a part of another graph, which destroys it.
SIM_API(cuGraphDestroy, CUgraph handle)
{
    struct graph *graph;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(handle, &graph));
    SIM_RETURN_IF(graph->owner || capture_is_of(&graph->object), CUDA_ERROR_INVALID_VALUE);
    graph_destroy(graph);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphClone, CUgraph *out, CUgraph handle)
{
    struct graph *graph, *clone;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(handle, &graph));
    SIM_TRY(graph_clone(graph, &clone));
    *out = graph_handle(clone);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeFindInClone, CUgraphNode *out, CUgraphNode handle, CUgraph clone_handle)
{
    struct graph *clone;
    struct node *node;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(node_find(handle, &node));
    SIM_TRY(graph_find(clone_handle, &clone));
    for (size_t i = 0; i < clone->node_count; i++)
        if (clone->nodes[i]->origin == node->id) {
            *out = node_handle(clone->nodes[i]);
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuGraphDestroyNode, CUgraphNode handle)
{
    struct node *node;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(node_find(handle, &node));
    SIM_RETURN_IF(node->graph->memory_nodes, CUDA_ERROR_NOT_SUPPORTED);
    node_remove(node);
    return CUDA_SUCCESS;
}
