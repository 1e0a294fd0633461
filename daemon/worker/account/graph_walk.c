// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/account/graph_walk.h"

#include <stdlib.h>

#include "common/base/scope.h"

enum { DEPTH_MAX = 32 }; // of graphs inside graphs

static graph_bodies_of *bodies_of;

void graph_walk_prepare(graph_bodies_of *function)
{
    bodies_of = function;
}

static CUresult walk(CUgraph graph, const struct graph_visitor *visitor, unsigned depth);

static CUresult walk_bodies(CUgraphNode node, const struct graph_visitor *visitor, unsigned depth)
{
    size_t count = bodies_of ? bodies_of(node, NULL, 0) : 0;
    CUresult result = CUDA_SUCCESS;

    SCOPED_FREE CUgraph *bodies = calloc(count ? count : 1, sizeof(*bodies));
    if (!bodies)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (count && bodies_of(node, bodies, count) != count)
        return CUDA_ERROR_INVALID_VALUE; // changed by another thread meanwhile
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
        result = walk(bodies[i], visitor, depth);
    return result;
}

static CUresult walk_node(CUgraphNode node, const struct graph_visitor *visitor, unsigned depth)
{
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUgraph inside = NULL;
    CUresult result = driver.cuGraphNodeGetType(node, &type);

    if (result == CUDA_SUCCESS)
        result = visitor->node(node, type, visitor->argument);
    if (result == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return walk_bodies(node, visitor, depth + 1);
    if (result != CUDA_SUCCESS || type != CU_GRAPH_NODE_TYPE_GRAPH)
        return result;
    result = driver.cuGraphChildGraphNodeGetGraph(node, &inside);
    return result == CUDA_SUCCESS ? walk(inside, visitor, depth + 1) : result;
}

static CUresult walk(CUgraph graph, const struct graph_visitor *visitor, unsigned depth)
{
    size_t count = 0;
    CUresult result = depth < DEPTH_MAX ? driver.cuGraphGetNodes(graph, NULL, &count)
                                        : CUDA_ERROR_NOT_SUPPORTED;

    if (result != CUDA_SUCCESS || !count)
        return result;
    SCOPED_FREE CUgraphNode *nodes = calloc(count, sizeof(*nodes));
    result = nodes ? driver.cuGraphGetNodes(graph, nodes, &count) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS && visitor->graph)
        result = visitor->graph(graph, visitor->argument);
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
        result = walk_node(nodes[i], visitor, depth);
    return result;
}

bool graph_can_walk(void)
{
    return driver.cuGraphGetNodes && driver.cuGraphNodeGetType &&
           driver.cuGraphChildGraphNodeGetGraph;
}

CUresult graph_walk(CUgraph graph, const struct graph_visitor *visitor)
{
    return walk(graph, visitor, 0);
}
