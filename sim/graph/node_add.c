// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls that add nodes.
#include "sim/graph/node_add.h"

#include <string.h>

#include "sim/graph/condition.h"
#include "sim/graph/graph_memory.h"

static CUresult find_child(struct graph *graph, const CUDA_CHILD_GRAPH_NODE_PARAMS *params,
                           struct graph **out)
{
    struct graph *child;
    SIM_TRY(graph_find(params->graph, &child));
    SIM_RETURN_IF(child == graph, CUDA_ERROR_INVALID_VALUE);
    if (params->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
        SIM_RETURN_IF(child->owner, CUDA_ERROR_INVALID_VALUE);
        *out = child;
        return CUDA_SUCCESS;
    }
    SIM_RETURN_IF(params->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE,
                  CUDA_ERROR_INVALID_VALUE);
    return graph_clone(child, out);
}

static CUresult add_child(struct graph *graph, CUgraphNodeParams *params, struct node **out)
{
    struct node_step *step;
    struct graph *child;
    bool moved = params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    SIM_TRY(find_child(graph, &params->graph, &child));
    CUgraphNodeParams own = *params;
    own.graph.graph = graph_handle(child);
    CUresult result = step_create(&own, NULL, &step);
    if (!result)
        result = node_add(graph, step, out);
    if (result) {
        if (!moved)
            graph_destroy(child);
        return result;
    }
    graph->memory_nodes += child->memory_nodes;
    return node_add_part(*out, child);
}

static CUresult check_allocation(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *alloc, struct device **device)
{
    SIM_RETURN_IF(alloc->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || !alloc->bytesize,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(alloc->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE,
                  CUDA_ERROR_NOT_SUPPORTED);
    SIM_RETURN_IF(alloc->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
                      (alloc->accessDescCount && !alloc->accessDescs),
                  CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < alloc->accessDescCount; i++) {
        SIM_RETURN_IF(alloc->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE,
                      CUDA_ERROR_INVALID_VALUE);
        SIM_TRY(device_get(alloc->accessDescs[i].location.id, device));
    }
    return device_get(alloc->poolProps.location.id, device) ? CUDA_ERROR_INVALID_VALUE
                                                            : CUDA_SUCCESS;
}

static CUresult add_allocation(struct graph *graph, CUgraphNodeParams *params, struct node **out)
{
    struct device *device;
    struct graph_memory *memory;
    struct node_step *step;
    SIM_TRY(check_allocation(&params->alloc, &device));
    SIM_TRY(graph_memory_create(device, params->alloc.bytesize, &memory));
    CUgraphNodeParams made = *params;
    made.alloc.dptr = graph_memory_address(memory);
    SIM_TRY(step_create_memory(&made, memory, &step));
    SIM_TRY(node_add(graph, step, out));
    params->alloc.dptr = made.alloc.dptr;
    return CUDA_SUCCESS;
}

// Adds a free node. A graph may free an allocation only once.
static CUresult add_free(struct graph *graph, CUgraphNodeParams *params, struct node **out)
{
    struct node_step *step;
    for (size_t i = 0; i < graph->node_count; i++) {
        const CUgraphNodeParams *other = step_params(graph->nodes[i]->step);
        SIM_RETURN_IF(other->type == CU_GRAPH_NODE_TYPE_MEM_FREE &&
                          other->free.dptr == params->free.dptr,
                      CUDA_ERROR_INVALID_VALUE);
    }
    struct graph_memory *memory = graph_memory_find(params->free.dptr);
    SIM_RETURN_IF(!memory, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(step_create_memory(params, memory, &step));
    return node_add(graph, step, out);
}

CUresult node_create(struct graph *graph, CUgraphNodeParams *params,
                     const struct step_attributes *attributes, struct node **out)
{
    struct node_step *step;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH: return add_child(graph, params, out);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return condition_add_node(graph, params, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return add_allocation(graph, params, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return add_free(graph, params, out);
    }
    SIM_TRY(step_create(params, attributes, &step));
    return node_add(graph, step, out);
}

static CUresult node_add_to_graph(CUgraphNode *out, CUgraph handle, const CUgraphNode *dependencies,
                                  const CUgraphEdgeData *data, size_t count,
                                  CUgraphNodeParams *params)
{
    struct graph *graph;
    struct node *node;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || !params, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(handle, &graph));
    SIM_TRY(edge_check_dependencies(graph, dependencies, data, count));
    SIM_TRY(node_create(graph, params, NULL, &node));
    CUresult result = edge_add_dependencies(node, dependencies, data, count);
    if (result)
        node_remove(node);
    else
        *out = node_handle(node);
    return result;
}

SIM_API(cuGraphAddNode_v2, CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
        const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!params, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(params->reserved0[0] || params->reserved0[1] || params->reserved0[2] ||
                      params->reserved2,
                  CUDA_ERROR_INVALID_VALUE);
    return node_add_to_graph(out, graph, dependencies, data, count, params);
}

// Defines the older calls, each for one kind of node.
#define ADD_CALL(name, given, ...) \
    SIM_API(name, CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t count, \
            __VA_ARGS__) \
    { \
        CUgraphNodeParams params = {0}; \
        SIM_TRY(sim_check_ready()); \
        given; \
        return node_add_to_graph(out, graph, dependencies, NULL, count, &params); \
    }

#define NEED(condition) SIM_RETURN_IF(!(condition), CUDA_ERROR_INVALID_VALUE)

static CUgraphNodeParams kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL,
                               .kernel = {.func = p->func,
                                          .gridDimX = p->gridDimX,
                                          .gridDimY = p->gridDimY,
                                          .gridDimZ = p->gridDimZ,
                                          .blockDimX = p->blockDimX,
                                          .blockDimY = p->blockDimY,
                                          .blockDimZ = p->blockDimZ,
                                          .sharedMemBytes = p->sharedMemBytes,
                                          .kernelParams = p->kernelParams,
                                          .extra = p->extra}};
}

ADD_CALL(cuGraphAddKernelNode, NEED(p); params = kernel_v1(p), const CUDA_KERNEL_NODE_PARAMS_v1 *p)
ADD_CALL(cuGraphAddKernelNode_v2, NEED(p); params.type = CU_GRAPH_NODE_TYPE_KERNEL;
         memcpy(&params.kernel, p, sizeof(*p)), const CUDA_KERNEL_NODE_PARAMS *p)
ADD_CALL(cuGraphAddMemcpyNode, NEED(p); params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
         params.memcpy = ((CUDA_MEMCPY_NODE_PARAMS){.copyCtx = context, .copyParams = *p}),
         const CUDA_MEMCPY3D *p, CUcontext context)
ADD_CALL(cuGraphAddMemsetNode, NEED(p); params.type = CU_GRAPH_NODE_TYPE_MEMSET;
         params.memset = ((CUDA_MEMSET_NODE_PARAMS_v2){p->dst, p->pitch, p->value, p->elementSize,
                                                       p->width, p->height, context}),
         const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
ADD_CALL(cuGraphAddHostNode, NEED(p); params.type = CU_GRAPH_NODE_TYPE_HOST;
         params.host = ((CUDA_HOST_NODE_PARAMS_v2){p->fn, p->userData}),
         const CUDA_HOST_NODE_PARAMS *p)
ADD_CALL(cuGraphAddChildGraphNode, params.type = CU_GRAPH_NODE_TYPE_GRAPH;
         params.graph.graph = child, CUgraph child)
ADD_CALL(cuGraphAddEventRecordNode, params.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
         params.eventRecord.event = event, CUevent event)
ADD_CALL(cuGraphAddEventWaitNode, params.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
         params.eventWait.event = event, CUevent event)
ADD_CALL(cuGraphAddBatchMemOpNode, NEED(p); params.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
         params.memOp = ((CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){p->ctx, p->count, p->paramArray,
                                                            p->flags}),
         const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
ADD_CALL(cuGraphAddMemFreeNode, params.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
         params.free.dptr = address, CUdeviceptr address)

SIM_API(cuGraphAddEmptyNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
        size_t count)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return node_add_to_graph(out, graph, dependencies, NULL, count, &params);
}

SIM_API(cuGraphAddMemAllocNode, CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
        size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    SIM_TRY(sim_check_ready());
    NEED(p);
    params.alloc = (CUDA_MEM_ALLOC_NODE_PARAMS_v2){.poolProps = p->poolProps,
                                                   .accessDescs = p->accessDescs,
                                                   .accessDescCount = p->accessDescCount,
                                                   .bytesize = p->bytesize};
    SIM_TRY(node_add_to_graph(out, graph, dependencies, NULL, count, &params));
    p->dptr = params.alloc.dptr;
    return CUDA_SUCCESS;
}
