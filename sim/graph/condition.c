// SPDX-License-Identifier: BSD-3-Clause
#include "sim/graph/condition.h"

#include <stdlib.h>

static uint64_t next_handle = 1;

static CUresult condition_add(struct graph *graph, uint64_t handle, unsigned value, unsigned flags)
{
    struct graph_condition *condition = calloc(1, sizeof(*condition));
    SIM_RETURN_IF(!condition, CUDA_ERROR_OUT_OF_MEMORY);
    *condition = (struct graph_condition){graph->conditions, handle, value, flags, false};
    graph->conditions = condition;
    return CUDA_SUCCESS;
}

void condition_drop_all(struct graph *graph)
{
    while (graph->conditions) {
        struct graph_condition *condition = graph->conditions;
        graph->conditions = condition->next;
        free(condition);
    }
}

CUresult condition_check_body(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: break;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

static struct graph_condition *condition_find(const struct graph *graph, uint64_t handle)
{
    struct graph_condition *condition = graph->conditions;
    while (condition && condition->handle != handle)
        condition = condition->next;
    return condition;
}

static bool size_fits(CUgraphConditionalNodeType type, unsigned size)
{
    switch (type) {
    case CU_GRAPH_COND_TYPE_IF: return size == 1 || size == 2;
    case CU_GRAPH_COND_TYPE_WHILE: return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH: return size >= 1;
    }
    return false;
}

static CUresult add_bodies(struct node *node, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct graph *body;
        SIM_TRY(graph_create(&body));
        body->is_body = true;
        SIM_TRY(node_add_part(node, body));
    }
    return CUDA_SUCCESS;
}

CUresult condition_add_node(struct graph *graph, CUgraphNodeParams *params, struct node **out)
{
    struct node_step *step;
    struct graph_condition *condition = condition_find(graph, params->conditional.handle);
    SIM_RETURN_IF(!condition || condition->used, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!size_fits(params->conditional.type, params->conditional.size),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(step_create(params, NULL, &step));
    SIM_TRY(node_add(graph, step, out));
    CUresult result = add_bodies(*out, params->conditional.size);
    if (result) {
        node_remove(*out);
        return result;
    }
    condition->used = true;
    params->conditional.phGraph_out = (*out)->part_handles;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphConditionalHandleCreate, CUgraphConditionalHandle *out, CUgraph handle,
        CUcontext context_handle, unsigned int value, unsigned int flags)
{
    struct context *context;
    struct graph *graph;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!context_handle, CUDA_ERROR_INVALID_CONTEXT);
    SIM_TRY(context_get(context_handle, &context));
    CUresult result = context_status(context);
    object_put(&context->object);
    SIM_RETURN_IF(result, result);
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(handle, &graph));
    SIM_TRY(condition_add(graph, next_handle, value, flags));
    *out = next_handle++;
    return CUDA_SUCCESS;
}
