// SPDX-License-Identifier: BSD-3-Clause
// Updates an executable graph from a graph of the same shape, updates a child graph, and enables or
// disables nodes.
#include "sim/graph/exec_update.h"

#include "sim/graph/exec_graph.h"

struct mismatch {
    CUgraphExecUpdateResult result;
    CUgraphNode node; // node of the graph; NULL: none in particular
    CUgraphNode from; // the other end of an edge
};

static CUresult differs(struct mismatch *mismatch, CUgraphExecUpdateResult result, CUgraphNode node)
{
    if (mismatch->result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
        *mismatch = (struct mismatch){result, node, NULL};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

static bool same_copy_kind(const CUDA_MEMCPY3D *a, const CUDA_MEMCPY3D *b)
{
    return a->srcMemoryType == b->srcMemoryType && a->dstMemoryType == b->dstMemoryType &&
           (a->Height > 1) == (b->Height > 1) && (a->Depth > 1) == (b->Depth > 1);
}

static bool same_fill_kind(const CUDA_MEMSET_NODE_PARAMS_v2 *a, const CUDA_MEMSET_NODE_PARAMS_v2 *b)
{
    return (a->height > 1) == (b->height > 1) &&
           (a->height == 1 ||
            (a->elementSize == b->elementSize && a->width == b->width && a->height == b->height));
}

static CUresult compare_steps(const struct exec_plan_node *old, const struct exec_plan_node *new,
                              struct mismatch *mismatch)
{
    const CUgraphNodeParams *a = step_params(old->step), *b = step_params(new->step);
    if (a->type != b->type)
        return differs(mismatch, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, new->handle);
    if (step_context(old->step) != step_context(new->step))
        return differs(mismatch,
                       a->type == CU_GRAPH_NODE_TYPE_KERNEL
                           ? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
                           : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                       new->handle);
    bool same = true;
    switch ((int)a->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        same = same_copy_kind(&a->memcpy.copyParams, &b->memcpy.copyParams);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET: same = same_fill_kind(&a->memset, &b->memset); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: same = a->memOp.count == b->memOp.count; break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        same = step_memory(old->step) == step_memory(new->step);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        same = a->conditional.type == b->conditional.type && old->part_count == new->part_count;
        break;
    }
    return same ? CUDA_SUCCESS
                : differs(mismatch, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, new->handle);
}

static CUresult compare_edges(const struct exec_plan *new_plan, const struct exec_plan_node *old,
                              const struct exec_plan_node *new, struct mismatch *mismatch)
{
    if (old->before_count != new->before_count)
        return differs(mismatch, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new->handle);
    if (old->after_count != new->after_count)
        return differs(mismatch, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new->handle);
    for (size_t i = 0; i < old->after_count; i++) {
        if (old->after[i] == new->after[i])
            continue;
        CUresult result = differs(mismatch, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                                  new_plan->nodes[new->after[i]].handle);
        mismatch->from = new->handle;
        return result;
    }
    return CUDA_SUCCESS;
}

static CUresult exec_update_compare(const struct exec_plan *old, const struct exec_plan *new,
                                    struct mismatch *mismatch)
{
    if (old->count != new->count)
        return differs(mismatch, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL);
    for (size_t i = 0; i < old->count; i++) {
        const struct exec_plan_node *a = &old->nodes[i], *b = &new->nodes[i];
        SIM_TRY(compare_edges(new, a, b, mismatch));
        SIM_TRY(compare_steps(a, b, mismatch));
        for (unsigned part = 0; part < a->part_count; part++)
            SIM_TRY(exec_update_compare(a->parts[part], b->parts[part], mismatch));
    }
    return CUDA_SUCCESS;
}

// Replaces the steps. The nodes keep their original ids, so that later updates find them.
static void take_steps(struct exec_plan *to, const struct exec_plan *from)
{
    for (size_t i = 0; i < to->count; i++) {
        exec_plan_set_step(&to->nodes[i], step_hold(from->nodes[i].step));
        for (unsigned part = 0; part < to->nodes[i].part_count; part++)
            take_steps(to->nodes[i].parts[part], from->nodes[i].parts[part]);
    }
}

// Gives conditions the handles that the new kernels use.
static void take_slots(struct exec_plan *to, const struct exec_plan *from)
{
    for (unsigned i = 0; i < to->slot_count && i < from->slot_count; i++)
        to->slots[i] = from->slots[i];
}

static CUresult exec_update_apply(struct exec *exec, struct graph *graph, struct mismatch *mismatch)
{
    struct exec_plan *made, *plan;
    struct node *error;
    CUgraphInstantiateResult reason;
    mismatch->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    SIM_TRY(exec_plan_create(graph, &made, &error, &reason));
    mismatch->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    CUresult result = exec_update_compare(exec->plan, made, mismatch);
    if (!result)
        result = exec_own_plan(exec, &plan);
    // Also retains the new graph's user objects; launches in progress still need the old ones.
    if (!result)
        result = exec_copy_users(exec, graph);
    if (!result) {
        take_steps(plan, made);
        take_slots(plan, made);
    }
    exec_plan_put(made);
    return result;
}

static CUresult update_by_handle(CUgraphExec exec_handle, CUgraph graph_handle_,
                                 struct mismatch *mismatch)
{
    struct exec *exec;
    struct graph *graph;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(exec_find(exec_handle, &exec));
    SIM_TRY(graph_find(graph_handle_, &graph));
    return exec_update_apply(exec, graph, mismatch);
}

SIM_API(cuGraphExecUpdate_v2, CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    struct mismatch mismatch = {0};
    SIM_TRY(sim_check_ready());
    CUresult result = update_by_handle(exec, graph, &mismatch);
    if (info)
        *info = (CUgraphExecUpdateResultInfo){mismatch.result, mismatch.node, mismatch.from};
    return result;
}

SIM_API(cuGraphExecUpdate, CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
        CUgraphExecUpdateResult *update_result)
{
    struct mismatch mismatch = {0};
    CUresult result = update_by_handle(exec, graph, &mismatch);
    if (error_node)
        *error_node = mismatch.node;
    if (update_result)
        *update_result = mismatch.result;
    return result;
}

static CUresult update_child(struct exec *exec, const struct node *node, struct graph *graph)
{
    struct mismatch mismatch = {0};
    struct exec_plan *made, *plan = NULL;
    struct node *error;
    CUgraphInstantiateResult reason;
    struct exec_plan_node *found = exec_plan_find(exec->plan, node->id);
    SIM_RETURN_IF(!found, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(exec_plan_create(graph, &made, &error, &reason));
    CUresult result = exec_update_compare(found->parts[0], made, &mismatch);
    if (!result)
        result = exec_own_plan(exec, &plan);
    if (!result)
        take_steps(exec_plan_find(plan, node->id)->parts[0], made);
    exec_plan_put(made);
    return result;
}

CUresult exec_set_child(CUgraphExec exec_handle, CUgraphNode node_handle_, CUgraph graph_handle_)
{
    struct exec *exec;
    struct node *node;
    struct graph *graph;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(exec_find(exec_handle, &exec));
    SIM_TRY(node_find(node_handle_, &node));
    SIM_TRY(graph_find(graph_handle_, &graph));
    SIM_RETURN_IF(node_type(node) != CU_GRAPH_NODE_TYPE_GRAPH, CUDA_ERROR_INVALID_VALUE);
    return update_child(exec, node, graph);
}

SIM_API(cuGraphExecChildGraphNodeSetParams, CUgraphExec exec, CUgraphNode node, CUgraph graph)
{
    return exec_set_child(exec, node, graph);
}

// Finds a node to enable or disable: only kernels, copies and fills.
static CUresult find_switch(CUgraphExec exec_handle, CUgraphNode handle, struct exec **exec,
                            struct exec_plan_node **out)
{
    struct node *node;
    SIM_TRY(exec_find(exec_handle, exec));
    SIM_TRY(node_find(handle, &node));
    CUgraphNodeType type = node_type(node);
    SIM_RETURN_IF(type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY &&
                      type != CU_GRAPH_NODE_TYPE_MEMSET,
                  CUDA_ERROR_INVALID_VALUE);
    *out = exec_plan_find((*exec)->plan, node->id);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuGraphNodeSetEnabled, CUgraphExec exec_handle, CUgraphNode node, unsigned int enabled)
{
    struct exec *exec;
    struct exec_plan *plan;
    struct exec_plan_node *found;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(find_switch(exec_handle, node, &exec, &found));
    uint64_t id = found->id;
    SIM_TRY(exec_own_plan(exec, &plan));
    exec_plan_find(plan, id)->enabled = enabled;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphNodeGetEnabled, CUgraphExec exec_handle, CUgraphNode node, unsigned int *enabled)
{
    struct exec *exec;
    struct exec_plan_node *found;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(find_switch(exec_handle, node, &exec, &found));
    SIM_RETURN_IF(!enabled, CUDA_ERROR_INVALID_VALUE);
    *enabled = found->enabled;
    return CUDA_SUCCESS;
}
