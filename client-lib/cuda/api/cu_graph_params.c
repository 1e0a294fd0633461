// SPDX-License-Identifier: BSD-3-Clause
// Graph management: queries of nodes' parameters.
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/api/graph_handles.h"
#include "client-lib/cuda/work/callbacks.h"
#include "client-lib/cuda/work/graph_objects.h"
#include "client-lib/cuda/work/launching.h"
#include "client_calls.h"

// A box's answer about a node: BYTES holds the structure of its TYPE, then variable data.
struct answered {
    struct object *node;
    uint32_t type;
    size_t size;
    uint8_t *bytes; // room for WIRE_INLINE_MAX bytes
};

static void answered_free(struct answered *answered)
{
    free(answered->bytes);
}
#define ANSWERED __attribute__((cleanup(answered_free))) struct answered

static CUresult ask_node(CUgraphNode node, struct answered *out)
{
    CUresult result = graph_handle_find(HANDLE_NODE, node, &out->node);
    if (result != CUDA_SUCCESS)
        return result;
    out->bytes = malloc(WIRE_INLINE_MAX);
    return out->bytes
               ? remote_graph_node_get(node, &out->type, out->bytes, WIRE_INLINE_MAX, &out->size)
               : CUDA_ERROR_OUT_OF_MEMORY;
}

// Returns the copy within this process that a host node performs; NULL: the node does another task.
static const struct callback_copy *cu_graph_params_copy_here(const struct answered *node)
{
    struct wire_host_node wire;
    if (node->type != CU_GRAPH_NODE_TYPE_HOST || node->size < sizeof(wire))
        return NULL;
    memcpy(&wire, node->bytes, sizeof(wire));
    const struct object *callback = object_find(HANDLE_CALLBACK, (void *)(uintptr_t)wire.callback);
    return callback ? callback->callback.copy : NULL;
}

// The same for a node that must be of TYPE. HEAD receives the fixed part of its parameters.
static CUresult ask_typed(CUgraphNode node, CUgraphNodeType type, const void *given,
                          struct answered *out, void *head, size_t size)
{
    CUresult result = given ? ask_node(node, out) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    if (out->type != (uint32_t)type)
        return CUDA_ERROR_INVALID_VALUE;
    if (out->size < size)
        return CUDA_ERROR_UNKNOWN;
    memcpy(head, out->bytes, size);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    ANSWERED got = {0};
    CUresult result = type ? ask_node(hNode, &got) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && cu_graph_params_copy_here(&got))
        got.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    if (result == CUDA_SUCCESS)
        *type = (CUgraphNodeType)got.type;
    return result;
}

// Search for the program's context of a handle on the wire. A primary context has another handle
// there.
struct context_search {
    uint64_t wire;
    uint64_t found;
};

static void compare_context(void *opaque, struct object *context)
{
    struct context_search *search = opaque;
    if (context->ctx.wire == search->wire)
        search->found = context->handle;
}

static CUcontext program_context(uint64_t wire)
{
    struct context_search search = {.wire = wire};
    if (wire)
        object_each(HANDLE_CONTEXT, compare_context, &search);
    return (CUcontext)(uintptr_t)search.found;
}

static CUresult cu_graph_params_get_kernel(CUgraphNode node, const void *given,
                                           CUDA_KERNEL_NODE_PARAMS *out)
{
    struct wire_kernel_node wire;
    ANSWERED got = {0};
    CUresult result = ask_typed(node, CU_GRAPH_NODE_TYPE_KERNEL, given, &got, &wire, sizeof(wire));
    if (result != CUDA_SUCCESS)
        return result;
    struct object *function = object_find(HANDLE_FUNCTION, (void *)(uintptr_t)wire.function);
    *out = (CUDA_KERNEL_NODE_PARAMS){
        .func = function && function->kind == HANDLE_FUNCTION ? (CUfunction)(uintptr_t)wire.function
                                                              : NULL,
        .kern = function && function->kind == HANDLE_KERNEL ? (CUkernel)(uintptr_t)wire.function
                                                            : NULL,
        .gridDimX = wire.grid[0],
        .gridDimY = wire.grid[1],
        .gridDimZ = wire.grid[2],
        .blockDimX = wire.block[0],
        .blockDimY = wire.block[1],
        .blockDimZ = wire.block[2],
        .sharedMemBytes = wire.shared_bytes,
        .ctx = program_context(wire.context),
    };
    if (function)
        out->kernelParams =
            kernel_node_unpack(function, got.bytes + sizeof(wire), got.size - sizeof(wire));
    graph_object_keep(node, out->kernelParams);
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    return cu_graph_params_get_kernel(hNode, nodeParams, nodeParams);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUDA_KERNEL_NODE_PARAMS all;
    CUresult result = cu_graph_params_get_kernel(hNode, nodeParams, &all);
    // Callers of this version know functions only. A kernel handle is returned as one, and every
    // call accepts it as one.
    if (result == CUDA_SUCCESS && !all.func)
        all.func = (CUfunction)all.kern;
    if (result == CUDA_SUCCESS)
        memcpy(nodeParams, &all, sizeof(*nodeParams));
    return result;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    struct wire_copy_node wire = {0};
    ANSWERED got = {0};
    CUresult result =
        ask_typed(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &got, &wire, sizeof(wire));
    const struct callback_copy *here = got.bytes ? cu_graph_params_copy_here(&got) : NULL;
    if (here) {
        *nodeParams = here->program;
        return CUDA_SUCCESS;
    }
    if (result != CUDA_SUCCESS)
        return result;
    *nodeParams = wire.copy;
    const struct object *callback = object_find(HANDLE_CALLBACK, (void *)(uintptr_t)wire.callback);
    if (callback && callback->callback.copy)
        *nodeParams = callback->callback.copy->program;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    struct wire_set_node wire;
    ANSWERED got = {0};
    CUresult result =
        ask_typed(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &got, &wire, sizeof(wire));
    if (result == CUDA_SUCCESS)
        *nodeParams = wire.params;
    return result;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct wire_host_node wire;
    ANSWERED got = {0};
    CUresult result =
        ask_typed(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &got, &wire, sizeof(wire));
    if (result != CUDA_SUCCESS)
        return result;
    const struct object *callback = object_find(HANDLE_CALLBACK, (void *)(uintptr_t)wire.callback);
    if (!callback)
        return CUDA_ERROR_INVALID_VALUE;
    *nodeParams = (CUDA_HOST_NODE_PARAMS){.fn = callback->callback.function,
                                          .userData = callback->callback.data};
    return CUDA_SUCCESS;
}

CUresult graph_node_event(CUgraphNode node, CUgraphNodeType type, CUevent *event)
{
    struct wire_event_node wire;
    ANSWERED got = {0};
    CUresult result = ask_typed(node, type, event, &got, &wire, sizeof(wire));
    if (result == CUDA_SUCCESS)
        *event = (CUevent)(uintptr_t)wire.event;
    return result;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    struct wire_alloc_node wire;
    ANSWERED got = {0};
    CUresult result =
        ask_typed(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out, &got, &wire, sizeof(wire));
    if (result != CUDA_SUCCESS)
        return result;
    const struct box_session *session = got.node->session;
    size_t bytes = wire.access_count * sizeof(CUmemAccessDesc);
    CUmemAccessDesc *access = bytes && got.size - sizeof(wire) >= bytes ? malloc(bytes) : NULL;
    if (access)
        memcpy(access, got.bytes + sizeof(wire), bytes);
    for (uint32_t i = 0; access && i < wire.access_count; i++)
        access[i].location.id = session_shown(session, (uint32_t)access[i].location.id);
    wire.pool.location.id = session_shown(session, (uint32_t)wire.pool.location.id);
    *params_out = (CUDA_MEM_ALLOC_NODE_PARAMS){.poolProps = wire.pool,
                                               .accessDescs = access,
                                               .accessDescCount = access ? wire.access_count : 0,
                                               .bytesize = wire.size,
                                               .dptr = wire.address};
    graph_object_keep(hNode, access);
    return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    struct wire_free_node wire;
    ANSWERED got = {0};
    CUresult result =
        ask_typed(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out, &got, &wire, sizeof(wire));
    if (result == CUDA_SUCCESS)
        *dptr_out = wire.address;
    return result;
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                        CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
    struct wire_batch_node wire;
    ANSWERED got = {0};
    CUresult result = ask_typed(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out, &got, &wire,
                                sizeof(wire));
    if (result != CUDA_SUCCESS)
        return result;
    size_t bytes = wire.count * sizeof(CUstreamBatchMemOpParams);
    CUstreamBatchMemOpParams *operations = malloc(bytes + 1);
    if (!operations || got.size - sizeof(wire) < bytes) {
        free(operations);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(operations, got.bytes + sizeof(wire), bytes);
    *nodeParams_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = program_context(wire.context),
                                                      .count = wire.count,
                                                      .paramArray = operations,
                                                      .flags = wire.flags};
    graph_object_keep(hNode, operations);
    return CUDA_SUCCESS;
}
