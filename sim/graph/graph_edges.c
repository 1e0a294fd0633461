// SPDX-License-Identifier: BSD-3-Clause
// Implements edges: dependencies of nodes, and orders in which nodes can run.
#include <stdlib.h>
#include <string.h>

#include "sim/graph/graph.h"

static const CUgraphEdgeData plain;

static CUresult graph_edges_append(struct edge_list *list, struct node *node,
                                   const CUgraphEdgeData *data)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 4;
        struct edge *items = realloc(list->items, capacity * sizeof(*items));
        SIM_RETURN_IF(!items, CUDA_ERROR_OUT_OF_MEMORY);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = (struct edge){node, *data};
    return CUDA_SUCCESS;
}

static void graph_edges_take_out(struct edge_list *list, const struct node *node)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].node == node) {
            memmove(&list->items[i], &list->items[i + 1],
                    (--list->count - i) * sizeof(list->items[0]));
            return;
        }
}

// Checks an edge. Only kernels have ports.
CUresult edge_check(const struct node *from, const CUgraphEdgeData *data)
{
    bool kernel = node_type(from) == CU_GRAPH_NODE_TYPE_KERNEL;
    if (!data)
        return CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof(data->reserved); i++)
        SIM_RETURN_IF(data->reserved[i], CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(data->to_port || data->type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
                      data->from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF((data->from_port || data->type) && !kernel, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!data->type != !data->from_port, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

struct edge *edge_find(struct node *from, const struct node *to)
{
    for (size_t i = 0; i < from->after.count; i++)
        if (from->after.items[i].node == to)
            return &from->after.items[i];
    return NULL;
}

CUresult edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data)
{
    SIM_TRY(graph_edges_append(&from->after, to, data ? data : &plain));
    CUresult result = graph_edges_append(&to->before, from, data ? data : &plain);
    if (result)
        from->after.count--;
    return result;
}

static void edge_remove(struct node *from, struct node *to)
{
    graph_edges_take_out(&from->after, to);
    graph_edges_take_out(&to->before, from);
}

void edge_remove_all(struct node *node)
{
    while (node->before.count)
        edge_remove(node->before.items[node->before.count - 1].node, node);
    while (node->after.count)
        edge_remove(node, node->after.items[node->after.count - 1].node);
}

CUresult edge_check_dependencies(struct graph *graph, const CUgraphNode *handles,
                                 const CUgraphEdgeData *data, size_t count)
{
    SIM_RETURN_IF(count && !handles, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        struct node *node;
        SIM_TRY(node_find(handles[i], &node));
        SIM_RETURN_IF(node->graph != graph, CUDA_ERROR_INVALID_VALUE);
        SIM_TRY(edge_check(node, data ? &data[i] : NULL));
        node->marked = false;
    }
    for (size_t i = 0; i < count; i++) {
        struct node *node;
        SIM_TRY(node_find(handles[i], &node));
        SIM_RETURN_IF(node->marked, CUDA_ERROR_INVALID_VALUE);
        node->marked = true;
    }
    return CUDA_SUCCESS;
}

CUresult edge_add_dependencies(struct node *node, const CUgraphNode *handles,
                               const CUgraphEdgeData *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct node *from;
        SIM_TRY(node_find(handles[i], &from));
        SIM_TRY(edge_add(from, node, data ? &data[i] : NULL));
    }
    return CUDA_SUCCESS;
}

struct node **edge_order(struct graph *graph, CUresult *result)
{
    size_t count = graph->node_count, ready = 0;
    struct node **order = malloc((count + 1) * sizeof(struct node *));
    size_t *waiting = malloc((count + 1) * sizeof(size_t));
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; order && waiting && i < count; i++) {
        graph->nodes[i]->place = i;
        waiting[i] = graph->nodes[i]->before.count;
        if (!waiting[i])
            order[ready++] = graph->nodes[i];
    }
    for (size_t done = 0; order && waiting && done < ready; done++)
        for (size_t i = 0; i < order[done]->after.count; i++) {
            struct node *next = order[done]->after.items[i].node;
            if (!--waiting[next->place])
                order[ready++] = next;
        }
    if (order && waiting)
        *result = ready == count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    free(waiting);
    if (!*result)
        return order;
    free(order);
    return NULL;
}

// Finds the two nodes of an edge to add or remove.
static CUresult find_ends(struct graph *graph, CUgraphNode from_handle, CUgraphNode to_handle,
                          struct node **from, struct node **to)
{
    SIM_TRY(node_find(from_handle, from));
    SIM_TRY(node_find(to_handle, to));
    SIM_RETURN_IF((*from)->graph != graph || (*to)->graph != graph || *from == *to,
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

// Changes all edges, or none on failure.
static CUresult graph_edges_change(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *data, size_t count, bool add)
{
    struct graph *graph;
    struct node *a, *b;
    SIM_TRY(graph_find(handle, &graph));
    SIM_RETURN_IF(count && (!from || !to), CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        SIM_TRY(find_ends(graph, from[i], to[i], &a, &b));
        SIM_TRY(edge_check(a, data ? &data[i] : NULL));
        struct edge *edge = edge_find(a, b);
        SIM_RETURN_IF(add == (edge != NULL), CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF(!add && data && memcmp(&edge->data, &data[i], sizeof(data[i])),
                      CUDA_ERROR_INVALID_VALUE);
    }
    SIM_RETURN_IF(!add && count && graph->memory_nodes, CUDA_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < count; i++) {
        SIM_TRY(find_ends(graph, from[i], to[i], &a, &b));
        if (add)
            SIM_TRY(edge_add(a, b, data ? &data[i] : NULL));
        else
            edge_remove(a, b);
    }
    return CUDA_SUCCESS;
}

static CUresult change_locked(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                              const CUgraphEdgeData *data, size_t count, bool add)
{
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    return graph_edges_change(graph, from, to, data, count, add);
}

SIM_API(cuGraphAddDependencies_v2, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
        const CUgraphEdgeData *data, size_t count)
{
    return change_locked(graph, from, to, data, count, true);
}

SIM_API(cuGraphRemoveDependencies_v2, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
        const CUgraphEdgeData *data, size_t count)
{
    return change_locked(graph, from, to, data, count, false);
}
