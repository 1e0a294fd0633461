// SPDX-License-Identifier: BSD-3-Clause
#include "sim/graph/graph.h"

#include <stdlib.h>

#include "sim/graph/condition.h"
#include "sim/graph/user_object.h"

static uint64_t next_id = 1;

CUresult graph_find(CUgraph handle, struct graph **out)
{
    struct graph *graph = handle_get(OBJECT_GRAPH, handle);
    SIM_RETURN_IF(!graph, CUDA_ERROR_INVALID_VALUE);
    object_put(&graph->object); // destroying the graph needs the lock that the caller holds
    *out = graph;
    return CUDA_SUCCESS;
}

CUresult node_find(CUgraphNode handle, struct node **out)
{
    struct node *node = handle_get(OBJECT_NODE, handle);
    SIM_RETURN_IF(!node, CUDA_ERROR_INVALID_VALUE);
    object_put(&node->object);
    *out = node;
    return CUDA_SUCCESS;
}

static void free_graph(struct sim_object *object)
{
    struct graph *graph = (struct graph *)object;
    free(graph->nodes);
    free(graph);
}

CUresult graph_create(struct graph **out)
{
    struct graph *graph = calloc(1, sizeof(*graph));
    SIM_RETURN_IF(!graph, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&graph->object, OBJECT_GRAPH, NULL, free_graph);
    graph->id = next_id++;
    CUresult result = handle_publish(&graph->object);
    if (result)
        object_put(&graph->object);
    else
        *out = graph;
    return result;
}

void graph_destroy(struct graph *graph)
{
    (void)handle_revoke(&graph->object);
    while (graph->node_count)
        node_remove(graph->nodes[graph->node_count - 1]);
    condition_drop_all(graph);
    users_drop_all(&graph->users);
    object_put(&graph->object);
}

static void free_node(struct sim_object *object)
{
    struct node *node = (struct node *)object;
    step_put(node->step);
    free(node->before.items);
    free(node->after.items);
    free(node->parts);
    free(node->part_handles);
    free(node);
}

static CUresult graph_make_room(struct graph *graph)
{
    if (graph->node_count < graph->node_capacity)
        return CUDA_SUCCESS;
    size_t capacity = graph->node_capacity ? 2 * graph->node_capacity : 16;
    struct node **nodes = realloc(graph->nodes, capacity * sizeof(struct node *));
    SIM_RETURN_IF(!nodes, CUDA_ERROR_OUT_OF_MEMORY);
    graph->nodes = nodes;
    graph->node_capacity = capacity;
    return CUDA_SUCCESS;
}

CUresult node_add(struct graph *graph, struct node_step *step, struct node **out)
{
    struct node *node = graph_make_room(graph) ? NULL : calloc(1, sizeof(*node));
    if (!node) {
        step_put(step);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object_init(&node->object, OBJECT_NODE, NULL, free_node);
    node->graph = graph;
    node->id = next_id++;
    node->step = step;
    CUresult result = handle_publish(&node->object);
    if (result) {
        object_put(&node->object);
        return result;
    }
    graph->nodes[graph->node_count++] = node;
    graph->memory_nodes += step_memory(step) != NULL;
    *out = node;
    return CUDA_SUCCESS;
}

void node_remove(struct node *node)
{
    struct graph *graph = node->graph;
    (void)handle_revoke(&node->object);
    edge_remove_all(node);
    size_t at = --graph->node_count;
    while (graph->nodes[at] != node)
        at--;
    for (; at < graph->node_count; at++)
        graph->nodes[at] = graph->nodes[at + 1];
    graph->memory_nodes -= step_memory(node->step) != NULL;
    node->graph = NULL;
    for (unsigned i = 0; i < node->part_count; i++)
        graph_destroy(node->parts[i]);
    node->part_count = 0;
    object_put(&node->object);
}

void node_set_step(struct node *node, struct node_step *step)
{
    step_put(node->step);
    node->step = step;
}

CUresult node_add_part(struct node *node, struct graph *part)
{
    unsigned count = node->part_count + 1;
    struct graph **parts = realloc(node->parts, count * sizeof(struct graph *));
    CUgraph *handles = realloc(node->part_handles, count * sizeof(CUgraph));
    if (parts)
        node->parts = parts;
    if (handles)
        node->part_handles = handles;
    if (!parts || !handles) {
        graph_destroy(part);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    parts[node->part_count] = part;
    handles[node->part_count++] = graph_handle(part);
    part->owner = node;
    return CUDA_SUCCESS;
}
