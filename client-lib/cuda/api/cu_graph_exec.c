// SPDX-License-Identifier: BSD-3-Clause
// Graph management: instantiating graphs and updating the instantiated ones.
#include <stdatomic.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/api/graph_handles.h"
#include "client-lib/cuda/objects/exec_names.h"
#include "client-lib/cuda/work/graph_objects.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"

// Replaces the box's node names in OUTCOME with handles of nodes of GRAPH, 0 on failure.
static void name_nodes(const struct object *graph, struct wire_graph_outcome *outcome)
{
    uint64_t names[2] = {outcome->node, outcome->from_node};
    if (graph_name_found(graph->session, HANDLE_NODE, names, 2, graph->handle) != CUDA_SUCCESS)
        names[0] = names[1] = 0;
    outcome->node = names[0];
    outcome->from_node = names[1];
}

// Kernels launch a graph by the driver's handle, so the program gets that handle.
static CUresult name_for_kernels(CUgraphExec *exec)
{
    uint64_t name = 0;
    CUresult result = remote_graph_exec_name(*exec, &name);
    if (result == CUDA_SUCCESS && !exec_name((uintptr_t)*exec, name))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *exec = (CUgraphExec)(uintptr_t)name;
    else
        remote_cuGraphExecDestroy(*exec);
    return result;
}

static CUresult cu_graph_exec_instantiate(CUgraphExec *exec, CUgraph hGraph, uint64_t flags,
                                          bool with_upload, CUstream upload,
                                          struct wire_graph_outcome *outcome)
{
    struct object *graph, *context;
    size_t used = 0;
    *outcome = (struct wire_graph_outcome){0};
    CUresult result = graph_handle_find(HANDLE_GRAPH, hGraph, &graph);
    if (result == CUDA_SUCCESS && !exec)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    GRAPH_FINDING(finding);
    result = remote_graph_instantiate(exec, hGraph, flags, with_upload, upload, outcome,
                                      sizeof(*outcome), &used);
    name_nodes(graph, outcome);
    struct object *made = result == CUDA_SUCCESS ? object_find(HANDLE_EXEC, *exec) : NULL;
    if (made)
        made->exec.graph = graph_object_root(hGraph);
    if (made && flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        result = name_for_kernels(exec);
    return result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                     unsigned long long flags)
{
    struct wire_graph_outcome outcome;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) // which needs a stream
        return CUDA_ERROR_INVALID_VALUE;
    return cu_graph_exec_instantiate(phGraphExec, hGraph, flags, false, NULL, &outcome);
}

CUresult graph_instantiate_with(CUgraphExec *exec, CUgraph graph,
                                CUDA_GRAPH_INSTANTIATE_PARAMS *params, bool per_thread)
{
    struct wire_graph_outcome outcome;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUstream upload = per_thread ? stream_per_thread(params->hUploadStream) : params->hUploadStream;
    bool uploads = params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    CUresult result =
        cu_graph_exec_instantiate(exec, graph, params->flags, uploads, upload, &outcome);
    params->hErrNode_out = (CUgraphNode)(uintptr_t)outcome.node;
    params->result_out = (CUgraphInstantiateResult)outcome.result;
    if (result != CUDA_SUCCESS && params->result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS)
        params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log,
                            size_t size)
{
    struct wire_graph_outcome outcome;
    CUresult result = cu_graph_exec_instantiate(exec, graph, 0, false, NULL, &outcome);
    if (error_node)
        *error_node = (CUgraphNode)(uintptr_t)outcome.node;
    if (log && size)
        log[0] = '\0';
    return result;
}

// A launch is posted without a wait, unless the graph allocates memory: then it may fail, because
// the memory is still allocated or does not fit.
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    const struct object *object = object_find(HANDLE_EXEC, exec);
    bool may_fail = object &&
                    atomic_load_explicit(&object->session->graphs_allocate, memory_order_relaxed);
    return may_fail ? remote_graph_launch_known(exec, stream) : remote_cuGraphLaunch(exec, stream);
}

// ---- updates ----

static CUresult cu_graph_exec_update(CUgraphExec exec, CUgraph hGraph,
                                     struct wire_graph_outcome *outcome)
{
    struct object *graph, *object;
    size_t used = 0;
    *outcome = (struct wire_graph_outcome){0};
    CUresult result = graph_handle_find(HANDLE_EXEC, exec, &object);
    if (result == CUDA_SUCCESS)
        result = graph_handle_find(HANDLE_GRAPH, hGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    GRAPH_FINDING(finding);
    result = remote_graph_update(exec, hGraph, outcome, sizeof(*outcome), &used);
    name_nodes(graph, outcome);
    return result;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo *resultInfo)
{
    struct wire_graph_outcome outcome;
    CUresult result = cu_graph_exec_update(hGraphExec, hGraph, &outcome);
    if (resultInfo)
        *resultInfo = (CUgraphExecUpdateResultInfo){
            .result = (CUgraphExecUpdateResult)outcome.result,
            .errorNode = (CUgraphNode)(uintptr_t)outcome.node,
            .errorFromNode = (CUgraphNode)(uintptr_t)outcome.from_node};
    return result;
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                           CUgraphExecUpdateResult *updateResult_out)
{
    struct wire_graph_outcome outcome;
    CUresult result = cu_graph_exec_update(hGraphExec, hGraph, &outcome);
    if (hErrorNode_out)
        *hErrorNode_out = (CUgraphNode)(uintptr_t)outcome.node;
    if (updateResult_out)
        *updateResult_out = (CUgraphExecUpdateResult)outcome.result;
    return result;
}
