// SPDX-License-Identifier: BSD-3-Clause
// Graph management: adding nodes, of each kind and of any, and changing their parameters.
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/api/graph_handles.h"
#include "client-lib/cuda/api/graph_node_params.h"
#include "client-lib/cuda/memory/device_memory.h"
#include "client-lib/cuda/work/graph_objects.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"

enum { DEPENDENCIES_WITH_NODE = 1024 }; // sent with a new node; more are sent after it

// ---- adding ----

// Returns true if all NODES belong to GRAPH and no node occurs twice. Duplicates in lists of 64
// nodes or more are left to the box, which reports them later.
static bool are_of_graph(CUgraph graph, const CUgraphNode *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (graph_object_owner(nodes[i]) != (uintptr_t)graph)
            return false;
        for (size_t j = 0; count < 64 && j < i; j++)
            if (nodes[j] == nodes[i])
                return false;
    }
    return true;
}

// Packs the data of the request: dependencies, then parameters. The caller frees *OUT.
static CUresult cu_graph_node_join(CUgraph graph, const struct box_session *session,
                                   const CUgraphNode *after, const CUgraphEdgeData *edges,
                                   size_t count, const struct node_data *data, uint8_t **out,
                                   size_t *size)
{
    size_t head = count * sizeof(struct wire_dependency);
    *size = head + data->size;
    if (*size > WIRE_INLINE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *out = malloc(*size + 1);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!are_of_graph(graph, after, count))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph_pack_dependencies(session, after, edges, count, (void *)*out) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (data->size)
        memcpy(*out + head, data->data, data->size);
    return CUDA_SUCCESS;
}

// Memory that a graph allocates has its address from the creation of the node on.
static CUresult cu_graph_node_enter_memory(const struct object *graph,
                                           const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *alloc,
                                           CUdeviceptr address)
{
    struct object *context = NULL;
    thread_context_object(&context);
    return device_memory_of_graph(address, alloc->bytesize, graph->session,
                                  alloc->poolProps.location.id, context);
}

static void note_added(CUgraphNode node, CUgraph graph, const CUgraphNodeParams *params,
                       struct node_data *data)
{
    struct object *object = object_find(HANDLE_NODE, node);
    object->part.type = params->type + 1;
    graph_object_enter(node, graph);
    for (uint32_t i = 0; i < data->graph_count; i++)
        graph_object_enter(data->graphs[i], node);
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH &&
        params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
        graph_object_move(params->graph.graph, node);
    if (data->graphs)
        graph_object_keep(node, data->graphs);
    data->graphs = NULL;
}

// Returns true for node types whose creation is awaited, because the answer holds more than the
// handle or because another graph changes.
static bool is_awaited(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
           type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static CUresult cu_graph_node_send(CUgraphNode *node, CUgraph graph, CUgraphNodeType type,
                                   size_t count, bool edges, const void *data, size_t size,
                                   uint64_t *address)
{
    return is_awaited(type)
               ? remote_graph_add_known(node, graph, type, (uint32_t)count, edges, data, size,
                                        address)
               : remote_graph_add(node, graph, type, (uint32_t)count, edges, data, size);
}

static CUresult add_one(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                        const CUgraphEdgeData *edges, size_t count, const CUgraphNodeParams *params,
                        uint64_t *address)
{
    struct object *object;
    struct node_data data;
    uint8_t *joined = NULL;
    size_t size;
    CUresult result = graph_handle_find(HANDLE_GRAPH, graph, &object);
    if (result == CUDA_SUCCESS)
        result = node_data_make(object->session, params, &data);
    if (result != CUDA_SUCCESS)
        return result;
    result = cu_graph_node_join(graph, object->session, after, edges, count, &data, &joined, &size);
    if (result == CUDA_SUCCESS)
        result =
            cu_graph_node_send(node, graph, data.type, count, edges != NULL, joined, size, address);
    if (result == CUDA_SUCCESS)
        note_added(*node, graph, params, &data);
    else
        node_data_abandon(&data);
    if (result == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        result = cu_graph_node_enter_memory(object, &params->alloc, *address);
    free(joined);
    node_data_free(&data);
    return result;
}

static CUresult depend_on_rest(CUgraph graph, const CUgraphNode *after,
                               const CUgraphEdgeData *edges, size_t count, CUgraphNode node)
{
    CUgraphNode *to = malloc(count * sizeof(CUgraphNode));
    if (!to)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++)
        to[i] = node;
    CUresult result = graph_depend(graph, after, to, edges, count, false);
    free(to);
    return result;
}

static CUresult cu_graph_node_add(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                                  const CUgraphEdgeData *edges, size_t count,
                                  const CUgraphNodeParams *params, uint64_t *address)
{
    size_t first = count < DEPENDENCIES_WITH_NODE ? count : DEPENDENCIES_WITH_NODE;
    if (!node || !params || (count && !after))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = add_one(node, graph, after, edges, first, params, address);
    if (result == CUDA_SUCCESS && first < count)
        result = depend_on_rest(graph, after + first, edges ? edges + first : NULL, count - first,
                                *node);
    return result;
}

CUresult graph_node_add(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                        CUgraphNodeParams params)
{
    return cu_graph_node_add(node, graph, after, NULL, count, &params, &(uint64_t){0});
}

CUgraphNodeParams node_of_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&all.kernel, params, sizeof(*params));
    return all;
}

CUgraphNodeParams node_of_kernel(const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&all.kernel, params, sizeof(*params));
    return all;
}

CUgraphNodeParams node_of_copy(const CUDA_MEMCPY3D *params, CUcontext ctx)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                               .memcpy = {.copyCtx = ctx, .copyParams = *params}};
}

CUgraphNodeParams node_of_set(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET,
                               .memset = {.dst = params->dst,
                                          .pitch = params->pitch,
                                          .value = params->value,
                                          .elementSize = params->elementSize,
                                          .width = params->width,
                                          .height = params->height,
                                          .ctx = ctx}};
}

CUgraphNodeParams node_of_host(const CUDA_HOST_NODE_PARAMS *params)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_HOST,
                               .host = {.fn = params->fn, .userData = params->userData}};
}

CUgraphNodeParams node_of_child(CUgraph graph)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = graph}};
}

CUgraphNodeParams node_of_record(CUevent event)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                               .eventRecord = {.event = event}};
}

CUgraphNodeParams node_of_wait(CUevent event)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                               .eventWait = {.event = event}};
}

CUgraphNodeParams node_of_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    memcpy(&all.memOp, params, sizeof(*params));
    return all;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    uint64_t address = 0;
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&all.alloc, nodeParams, sizeof(*nodeParams));
    CUresult result =
        cu_graph_node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &all, &address);
    if (result == CUDA_SUCCESS)
        nodeParams->dptr = address;
    return result;
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
    uint64_t address = 0;
    CUresult result = cu_graph_node_add(node, graph, after, edges, count, params, &address);
    if (result != CUDA_SUCCESS)
        return result;
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        params->alloc.dptr = address;
    if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        params->conditional.phGraph_out = object_find(HANDLE_NODE, *node)->part.kept;
    return CUDA_SUCCESS;
}

// ---- changing ----

static bool cu_graph_node_is_of_type(const struct object *node, CUgraphNodeType type)
{
    return !node->part.type || node->part.type == (int)type + 1;
}

// Sets the parameters of NODE or, if EXEC is not NULL, of the same node in that instantiated graph.
static CUresult cu_graph_node_set(CUgraphExec exec, CUgraphNode node,
                                  const CUgraphNodeParams *params)
{
    struct object *object;
    struct node_data data;
    CUresult result = graph_handle_find(HANDLE_NODE, node, &object);
    if (result == CUDA_SUCCESS && !cu_graph_node_is_of_type(object, params->type))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    result = node_data_make(object->session, params, &data);
    if (result == CUDA_ERROR_INVALID_HANDLE && exec)
        return CUDA_ERROR_INVALID_VALUE; // the driver returns this here
    if (result != CUDA_SUCCESS)
        return result;
    // Some programs change kernels before every launch, so these are posted. Other changes may not
    // fit, and are awaited.
    if (!exec)
        result = remote_graph_node_set(node, data.type, data.data, data.size);
    else if (data.type == CU_GRAPH_NODE_TYPE_KERNEL)
        result = remote_graph_exec_set(exec, node, data.type, data.data, data.size);
    else
        result = remote_graph_exec_set_known(exec, node, data.type, data.data, data.size);
    if (result != CUDA_SUCCESS)
        node_data_abandon(&data);
    else if (!exec && params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        graph_object_empty(node);
    node_data_free(&data);
    return result;
}

// Returns an error unless NODE belongs to the graph that EXEC was instantiated from.
static CUresult check_exec(CUgraphExec exec, CUgraphNode node)
{
    struct object *object, *of;
    CUresult result = graph_handle_find(HANDLE_EXEC, exec, &object);
    if (result == CUDA_SUCCESS)
        result = graph_handle_find(HANDLE_NODE, node, &of);
    if (result == CUDA_SUCCESS && graph_object_root(node) != object->exec.graph)
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult graph_node_set(CUgraphNode node, CUgraphNodeParams params)
{
    return cu_graph_node_set(NULL, node, &params);
}

CUresult graph_node_set_in_exec(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams params)
{
    CUresult result = check_exec(exec, node);
    return result == CUDA_SUCCESS ? cu_graph_node_set(exec, node, &params) : result;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
    CUresult result = check_exec(hGraphExec, hNode);
    if (result != CUDA_SUCCESS)
        return result;
    const struct object *node = object_find(HANDLE_NODE, hNode);
    return node && (cu_graph_node_is_of_type(node, CU_GRAPH_NODE_TYPE_KERNEL) ||
                    cu_graph_node_is_of_type(node, CU_GRAPH_NODE_TYPE_MEMSET) ||
                    cu_graph_node_is_of_type(node, CU_GRAPH_NODE_TYPE_MEMCPY))
               ? remote_cuGraphNodeSetEnabled(hGraphExec, hNode, isEnabled)
               : CUDA_ERROR_INVALID_VALUE;
}
