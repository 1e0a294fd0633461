// SPDX-License-Identifier: BSD-3-Clause
// Implements instantiation and destruction of executable graphs.
#include "sim/graph/exec_graph.h"

#include <stdlib.h>

#include "sim/graph/condition.h"
#include "sim/graph/exec_launch.h"
#include "sim/graph/user_object.h"

#define FLAGS \
    (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | \
     CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

CUresult exec_find(CUgraphExec handle, struct exec **out)
{
    struct exec *exec = handle_get(OBJECT_EXEC, handle);
    SIM_RETURN_IF(!exec, CUDA_ERROR_INVALID_VALUE);
    object_put(&exec->object);
    *out = exec;
    return CUDA_SUCCESS;
}

static void free_exec(struct sim_object *object)
{
    struct exec *exec = (struct exec *)object;
    exec_plan_put(exec->plan);
    pthread_mutex_lock(&graph_mutex);
    users_drop_all(&exec->users);
    pthread_mutex_unlock(&graph_mutex);
    if (exec->last)
        object_put(&exec->last->object);
    pthread_mutex_destroy(&exec->launching);
    free(exec->values);
    free(exec);
}

CUresult exec_own_plan(struct exec *exec, struct exec_plan **out)
{
    if (atomic_load(&exec->plan->references) > 1) {
        struct exec_plan *copy;
        SIM_TRY(exec_plan_copy(exec->plan, &copy));
        exec_plan_put(exec->plan);
        exec->plan = copy;
    }
    *out = exec->plan;
    return CUDA_SUCCESS;
}

static CUresult check_flags(unsigned long long flags)
{
    SIM_RETURN_IF(flags & ~(unsigned long long)FLAGS, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH &&
                      flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

// Checks that a GPU could launch the node itself. Kernels that try to launch the graph get
// NOT_SUPPORTED.
static CUresult check_node(const struct graph *graph, const struct node *node, bool device_launch)
{
    CUgraphNodeType type = node_type(node);
    if (graph->is_body)
        return condition_check_body(type);
    if (!device_launch)
        return CUDA_SUCCESS;
    bool fits = type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_GRAPH;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_nodes(const struct graph *graph, bool device_launch, struct node **error,
                            CUgraphInstantiateResult *reason)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        if (check_node(graph, node, device_launch)) {
            *error = node;
            *reason = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (unsigned part = 0; part < node->part_count; part++)
            SIM_TRY(check_nodes(node->parts[part], device_launch, error, reason));
    }
    return CUDA_SUCCESS;
}

// Returns true if memory or conditions limit the graph to one executable graph.
static bool is_single(const struct graph *graph)
{
    return graph->memory_nodes || graph->conditions;
}

CUresult exec_copy_users(struct exec *exec, const struct graph *graph)
{
    SIM_TRY(users_copy(graph->users, &exec->users));
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned part = 0; part < graph->nodes[i]->part_count; part++)
            SIM_TRY(exec_copy_users(exec, graph->nodes[i]->parts[part]));
    return CUDA_SUCCESS;
}

static CUresult exec_graph_fill(struct exec *exec, struct graph *graph)
{
    unsigned slots = exec->plan->slot_count;
    exec->values = calloc(slots ? slots : 1, sizeof(atomic_uint));
    SIM_RETURN_IF(!exec->values, CUDA_ERROR_OUT_OF_MEMORY);
    for (unsigned i = 0; i < slots; i++)
        atomic_init(&exec->values[i], exec->plan->slots[i].value);
    SIM_TRY(exec_copy_users(exec, graph));
    if (is_single(graph)) {
        object_hold(&graph->object);
        exec->single_graph = graph;
        graph->instances++;
    }
    return handle_publish(&exec->object);
}

// Creates an executable graph. Sets *out even on failure; the caller puts it without the lock.
// Called under the lock.
static CUresult exec_graph_create(struct graph *graph, unsigned long long flags, struct exec **out,
                                  struct node **error, CUgraphInstantiateResult *reason)
{
    *reason = CUDA_GRAPH_INSTANTIATE_ERROR;
    *error = NULL;
    SIM_TRY(check_flags(flags));
    SIM_TRY(check_nodes(graph, flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, error, reason));
    SIM_RETURN_IF(graph->owner || (is_single(graph) && graph->instances), CUDA_ERROR_NOT_SUPPORTED);
    struct exec *exec = calloc(1, sizeof(*exec));
    SIM_RETURN_IF(!exec, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&exec->object, OBJECT_EXEC, NULL, free_exec);
    exec->flags = flags;
    pthread_mutex_init(&exec->launching, NULL);
    *out = exec;
    SIM_TRY(exec_plan_create(graph, &exec->plan, error, reason));
    return exec_graph_fill(exec, graph);
}

static void give_up_graph(struct exec *exec)
{
    SCOPED_LOCK(&graph_mutex);
    if (!exec->single_graph)
        return;
    exec->single_graph->instances--;
    object_put(&exec->single_graph->object);
    exec->single_graph = NULL;
}

static CUresult exec_graph_instantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags,
                                       CUgraphNode *error_node, CUgraphInstantiateResult *reason)
{
    struct context *context;
    struct graph *graph;
    struct node *error = NULL;
    struct exec *exec = NULL;
    CUgraphInstantiateResult unused;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    SIM_TRY(context_current(&context));
    pthread_mutex_lock(&graph_mutex);
    CUresult result = graph_find(handle, &graph);
    if (!result)
        result = exec_graph_create(graph, flags, &exec, &error, reason ? reason : &unused);
    if (error_node)
        *error_node = error ? node_handle(error) : NULL;
    pthread_mutex_unlock(&graph_mutex);
    if (!result)
        *out = object_handle(&exec->object);
    else if (exec) {
        give_up_graph(exec);
        object_put(&exec->object);
    }
    return result;
}

// Rejects uploads, which need a stream from cuGraphInstantiateWithParams.
SIM_API(cuGraphInstantiateWithFlags, CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    SIM_RETURN_IF(flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, CUDA_ERROR_INVALID_VALUE);
    return exec_graph_instantiate(out, graph, flags, NULL, NULL);
}

SIM_API(cuGraphInstantiate, CUgraphExec *out, CUgraph graph, CUgraphNode *error, char *log,
        size_t size)
{
    if (log && size)
        *log = 0;
    return exec_graph_instantiate(out, graph, 0, error, NULL);
}

static CUresult instantiate_with(CUgraphExec *out, CUgraph graph,
                                 CUDA_GRAPH_INSTANTIATE_PARAMS *params, CUstream upload_stream)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!params, CUDA_ERROR_INVALID_VALUE);
    params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    SIM_TRY(exec_graph_instantiate(out, graph, params->flags, &params->hErrNode_out,
                                   &params->result_out));
    if (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        return exec_upload(*out, upload_stream);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphInstantiateWithParams, CUgraphExec *out, CUgraph graph,
        CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    return instantiate_with(out, graph, params, params ? params->hUploadStream : NULL);
}

SIM_API(cuGraphInstantiateWithParams_ptsz, CUgraphExec *out, CUgraph graph,
        CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    CUstream stream = params ? params->hUploadStream : NULL;
    return instantiate_with(out, graph, params, stream ? stream : CU_STREAM_PER_THREAD);
}

// Queued launches hold the executable graph until they have run.
SIM_API(cuGraphExecDestroy, CUgraphExec handle)
{
    SIM_TRY(sim_check_ready());
    struct exec *exec = handle_get(OBJECT_EXEC, handle);
    SIM_RETURN_IF(!exec, CUDA_ERROR_INVALID_VALUE);
    bool first = handle_revoke(&exec->object);
    if (first) {
        give_up_graph(exec);
        object_put(&exec->object);
    }
    object_put(&exec->object);
    return first ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuGraphExecGetFlags, CUgraphExec handle, cuuint64_t *flags)
{
    struct exec *exec;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(exec_find(handle, &exec));
    SIM_RETURN_IF(!flags, CUDA_ERROR_INVALID_VALUE);
    *flags = exec->flags & (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                            CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
    return CUDA_SUCCESS;
}
