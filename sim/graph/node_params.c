// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls that get and set the parameters of nodes, in graphs and in executable
// graphs.
#include <string.h>

#include "sim/graph/exec_graph.h"
#include "sim/graph/exec_update.h"

static CUresult find_kind(CUgraphNode handle, CUgraphNodeType type, struct node **out)
{
    SIM_TRY(node_find(handle, out));
    SIM_RETURN_IF(node_type(*out) != type, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

// Checks the properties that a new step must share with the step that it replaces in an executable
// graph.
static CUresult check_exec_change(const struct node_step *old, const struct node_step *step)
{
    const CUgraphNodeParams *was = step_params(old), *is = step_params(step);
    SIM_RETURN_IF(step_context(old) != step_context(step), CUDA_ERROR_INVALID_VALUE);
    if (is->type == CU_GRAPH_NODE_TYPE_MEMSET)
        SIM_RETURN_IF((was->memset.height > 1) != (is->memset.height > 1) ||
                          (is->memset.height > 1 &&
                           (was->memset.elementSize != is->memset.elementSize ||
                            was->memset.width != is->memset.width ||
                            was->memset.height != is->memset.height)),
                      CUDA_ERROR_INVALID_VALUE);
    if (is->type == CU_GRAPH_NODE_TYPE_MEMCPY) {
        const CUDA_MEMCPY3D *a = &was->memcpy.copyParams, *b = &is->memcpy.copyParams;
        SIM_RETURN_IF(a->srcMemoryType != b->srcMemoryType || a->dstMemoryType != b->dstMemoryType,
                      CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF((a->Height > 1) != (b->Height > 1) || (a->Depth > 1) != (b->Depth > 1),
                      CUDA_ERROR_INVALID_VALUE);
    }
    if (is->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        SIM_RETURN_IF(was->memOp.count != is->memOp.count, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult node_params_set_in_exec(CUgraphExec exec_handle, uint64_t id,
                                        struct node_step *step)
{
    struct exec *exec;
    struct exec_plan *plan;
    SIM_TRY(exec_find(exec_handle, &exec));
    struct exec_plan_node *found = exec_plan_find(exec->plan, id);
    SIM_RETURN_IF(!found, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(check_exec_change(found->step, step));
    SIM_TRY(exec_own_plan(exec, &plan));
    exec_plan_set_step(exec_plan_find(plan, id), step_hold(step));
    return CUDA_SUCCESS;
}

// Changes a node's parameters; its kind and the values that the driver chose stay. `exec` is true
// for a node of an executable graph; the executable graph's handle may be NULL then.
static CUresult node_params_set(CUgraphExec exec_handle, bool exec, CUgraphNode handle,
                                const CUgraphNodeParams *params)
{
    struct node *node;
    struct node_step *step;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(find_kind(handle, params->type, &node));
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUresult made = step_create(params, step_kernel_attributes(node->step), &step);
    if (made)
        return exec && made == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : made;
    if (exec) {
        CUresult result = node_params_set_in_exec(exec_handle, node->id, step);
        step_put(step);
        return result;
    }
    node_set_step(node, step);
    return CUDA_SUCCESS;
}

static CUresult node_params_get(CUgraphNode handle, CUgraphNodeType type, const void *out,
                                CUgraphNodeParams *params)
{
    struct node *node;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(find_kind(handle, type, &node));
    *params = *step_params(node->step);
    return CUDA_SUCCESS;
}

static CUresult check_any(const CUgraphNodeParams *params)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!params, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(params->reserved0[0] || params->reserved0[1] || params->reserved0[2] ||
                      params->reserved2,
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeSetParams, CUgraphNode node, CUgraphNodeParams *params)
{
    SIM_TRY(check_any(params));
    return node_params_set(NULL, false, node, params);
}

SIM_API(cuGraphExecNodeSetParams, CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    SIM_TRY(check_any(params));
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return exec_set_child(exec, node, params->graph.graph);
    return node_params_set(exec, true, node, params);
}

// Define the calls of one kind: read, change, and change in an executable graph. `extra` holds
// further parameters of the last two.
#define NODE_GET(name, kind, type, ...) \
    SIM_API(name, CUgraphNode node, type *out) \
    { \
        CUgraphNodeParams params; \
        SIM_TRY(node_params_get(node, CU_GRAPH_NODE_TYPE_##kind, out, &params)); \
        *out = (type)__VA_ARGS__; \
        return CUDA_SUCCESS; \
    }
#define NODE_SET(name, exec, exec_given, kind, member, make, ...) \
    SIM_API(name, __VA_ARGS__) \
    { \
        CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_##kind}; \
        SIM_TRY(sim_check_ready()); \
        SIM_RETURN_IF(!p, CUDA_ERROR_INVALID_VALUE); \
        params.member = make; \
        return node_params_set(exec_given, exec, node, &params); \
    }

static CUDA_KERNEL_NODE_PARAMS_v3 from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUDA_KERNEL_NODE_PARAMS_v3 kernel = {.kern = NULL};
    memcpy(&kernel, p, sizeof(*p));
    return kernel;
}

static CUDA_KERNEL_NODE_PARAMS_v3 from_v2(const CUDA_KERNEL_NODE_PARAMS *p)
{
    CUDA_KERNEL_NODE_PARAMS_v3 kernel;
    _Static_assert(sizeof(kernel) == sizeof(*p), "the versions differ in name only");
    memcpy(&kernel, p, sizeof(kernel));
    return kernel;
}

static CUDA_MEMCPY_NODE_PARAMS from_copy(const CUDA_MEMCPY3D *p, CUcontext context)
{
    return (CUDA_MEMCPY_NODE_PARAMS){.copyCtx = context, .copyParams = *p};
}

static CUDA_MEMSET_NODE_PARAMS_v2 from_fill(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
    return (CUDA_MEMSET_NODE_PARAMS_v2){p->dst,   p->pitch,  p->value, p->elementSize,
                                        p->width, p->height, context};
}

static CUDA_HOST_NODE_PARAMS_v2 from_host(const CUDA_HOST_NODE_PARAMS *p)
{
    return (CUDA_HOST_NODE_PARAMS_v2){p->fn, p->userData};
}

static CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 from_words(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    return (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){p->ctx, p->count, p->paramArray, p->flags};
}

// Returns the node's context, for a change that names none.
static CUcontext node_params_context_of(CUgraphNode handle)
{
    struct node *node;
    SCOPED_LOCK(&graph_mutex);
    if (node_find(handle, &node) || !step_context(node->step))
        return NULL;
    return object_handle(&step_context(node->step)->object);
}

static CUresult node_params_get_kernel(CUgraphNode node, void *out, size_t size)
{
    CUgraphNodeParams params;
    SIM_TRY(node_params_get(node, CU_GRAPH_NODE_TYPE_KERNEL, out, &params));
    memcpy(out, &params.kernel, size); // the older form is a prefix of the newer form
    return CUDA_SUCCESS;
}

SIM_API(cuGraphKernelNodeGetParams, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
    return node_params_get_kernel(node, out, sizeof(*out));
}

SIM_API(cuGraphKernelNodeGetParams_v2, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out)
{
    return node_params_get_kernel(node, out, sizeof(*out));
}

NODE_SET(cuGraphKernelNodeSetParams, false, NULL, KERNEL, kernel, from_v1(p), CUgraphNode node,
         const CUDA_KERNEL_NODE_PARAMS_v1 *p)
NODE_SET(cuGraphExecKernelNodeSetParams, true, exec, KERNEL, kernel, from_v1(p), CUgraphExec exec,
         CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
NODE_SET(cuGraphKernelNodeSetParams_v2, false, NULL, KERNEL, kernel, from_v2(p), CUgraphNode node,
         const CUDA_KERNEL_NODE_PARAMS *p)
NODE_SET(cuGraphExecKernelNodeSetParams_v2, true, exec, KERNEL, kernel, from_v2(p),
         CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)

NODE_GET(cuGraphMemcpyNodeGetParams, MEMCPY, CUDA_MEMCPY3D, params.memcpy.copyParams)
NODE_SET(cuGraphMemcpyNodeSetParams, false, NULL, MEMCPY, memcpy,
         from_copy(p, node_params_context_of(node)), CUgraphNode node, const CUDA_MEMCPY3D *p)
NODE_SET(cuGraphExecMemcpyNodeSetParams, true, exec, MEMCPY, memcpy, from_copy(p, context),
         CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p, CUcontext context)

NODE_GET(cuGraphMemsetNodeGetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS,
         {params.memset.dst, params.memset.pitch, params.memset.value, params.memset.elementSize,
          params.memset.width, params.memset.height})
NODE_SET(cuGraphMemsetNodeSetParams, false, NULL, MEMSET, memset,
         from_fill(p, node_params_context_of(node)), CUgraphNode node,
         const CUDA_MEMSET_NODE_PARAMS *p)
NODE_SET(cuGraphExecMemsetNodeSetParams, true, exec, MEMSET, memset, from_fill(p, context),
         CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)

NODE_GET(cuGraphHostNodeGetParams, HOST, CUDA_HOST_NODE_PARAMS,
         {params.host.fn, params.host.userData})
NODE_SET(cuGraphHostNodeSetParams, false, NULL, HOST, host, from_host(p), CUgraphNode node,
         const CUDA_HOST_NODE_PARAMS *p)
NODE_SET(cuGraphExecHostNodeSetParams, true, exec, HOST, host, from_host(p), CUgraphExec exec,
         CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)

NODE_GET(cuGraphBatchMemOpNodeGetParams, BATCH_MEM_OP, CUDA_BATCH_MEM_OP_NODE_PARAMS,
         {params.memOp.ctx, params.memOp.count, params.memOp.paramArray, params.memOp.flags})
NODE_SET(cuGraphBatchMemOpNodeSetParams, false, NULL, BATCH_MEM_OP, memOp, from_words(p),
         CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
NODE_SET(cuGraphExecBatchMemOpNodeSetParams, true, exec, BATCH_MEM_OP, memOp, from_words(p),
         CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)

NODE_GET(cuGraphEventRecordNodeGetEvent, EVENT_RECORD, CUevent, params.eventRecord.event)
NODE_SET(cuGraphEventRecordNodeSetEvent, false, NULL, EVENT_RECORD, eventRecord.event, p,
         CUgraphNode node, CUevent p)
NODE_SET(cuGraphExecEventRecordNodeSetEvent, true, exec, EVENT_RECORD, eventRecord.event, p,
         CUgraphExec exec, CUgraphNode node, CUevent p)
NODE_GET(cuGraphEventWaitNodeGetEvent, WAIT_EVENT, CUevent, params.eventWait.event)
NODE_SET(cuGraphEventWaitNodeSetEvent, false, NULL, WAIT_EVENT, eventWait.event, p,
         CUgraphNode node, CUevent p)
NODE_SET(cuGraphExecEventWaitNodeSetEvent, true, exec, WAIT_EVENT, eventWait.event, p,
         CUgraphExec exec, CUgraphNode node, CUevent p)

NODE_GET(cuGraphMemFreeNodeGetParams, MEM_FREE, CUdeviceptr, params.free.dptr)
NODE_GET(cuGraphMemAllocNodeGetParams, MEM_ALLOC, CUDA_MEM_ALLOC_NODE_PARAMS,
         {.poolProps = params.alloc.poolProps,
          .accessDescs = params.alloc.accessDescs,
          .accessDescCount = params.alloc.accessDescCount,
          .bytesize = params.alloc.bytesize,
          .dptr = params.alloc.dptr})
