// SPDX-License-Identifier: BSD-3-Clause
// Instantiates graphs; updates, uploads and launches executable graphs. With a budget, a graph that
// allocates memory is uploaded before its first launch, so that the driver takes the memory in a
// call that can fail.
#include "daemon/worker/graphs/serve_graph_exec.h"

#include <stdlib.h>

#include "common/base/handle_table.h"
#include "proto/wire.h"
#include "daemon/worker/account/graph_charge.h"
#include "daemon/worker/graphs/graph_calls.h"
#include "daemon/worker/graphs/graph_params.h"
#include "daemon/worker/graphs/graph_size.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

// Has the driver take now what EXEC needs, once that has been counted.
static void upload(struct serve *serve, CUgraphExec exec, CUstream stream, bool anyway)
{
    bool first = false;

    if (graph_charge_counts())
        serve_fail(serve, graph_charge_take(exec, &first));
    if (!anyway && !first)
        return;
    if (serve_require(serve, driver.cuGraphUpload))
        serve_fail(serve, driver.cuGraphUpload(exec, stream));
    if (first && !serve_failed(serve))
        serve_fail(serve, graph_charge_taken());
}

void serve_cuGraphUpload(struct serve *serve, const struct args_cuGraphUpload *args,
                         CUgraphExec exec, CUstream stream)
{
    upload(serve, exec, stream, true);
}

static void serve_graph_exec_launch(struct serve *serve, uint64_t exec_handle,
                                    uint64_t stream_handle)
{
    CUgraphExec exec = serve_handle(serve, HANDLE_EXEC, exec_handle);
    CUstream stream = serve_handle(serve, HANDLE_STREAM, stream_handle);

    if (!serve_require(serve, driver.cuGraphLaunch))
        return;
    if (graph_charge_counts())
        upload(serve, exec, stream, false);
    if (!serve_failed(serve))
        serve_fail(serve, driver.cuGraphLaunch(exec, stream));
    if (serve_failed(serve))
        return;
    if (graph_charge_counts())
        graph_charge_launched(exec, serve->current, stream);
    kernel_windows_note_launch(serve->current, stream);
}

void serve_cuGraphLaunch(struct serve *serve, const struct args_cuGraphLaunch *args)
{
    serve_graph_exec_launch(serve, args->hGraph, args->hStream);
}

void serve_graph_launch_known(struct serve *serve, const struct args_graph_launch_known *args)
{
    serve_graph_exec_launch(serve, args->exec, args->stream);
}

void serve_cuDeviceGraphMemTrim(struct serve *serve, const struct args_cuDeviceGraphMemTrim *args,
                                CUdevice device)
{
    serve_fail(serve, driver.cuDeviceGraphMemTrim(device));
    if (graph_charge_counts())
        graph_charge_trimmed(session_device_of(device));
}

// ---- instantiation ----

static CUresult serve_graph_exec_instantiate(CUgraphExec *exec, CUgraph graph,
                                             CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    if (driver.cuGraphInstantiateWithParams)
        return driver.cuGraphInstantiateWithParams(exec, graph, params);
    return driver.cuGraphInstantiateWithFlags
               ? driver.cuGraphInstantiateWithFlags(exec, graph, params->flags)
               : CUDA_ERROR_NOT_SUPPORTED;
}

static void serve_graph_exec_tell(struct serve *serve, int result, CUgraphNode node,
                                  CUgraphNode from, uint64_t owner, uint32_t room)
{
    struct wire_graph_outcome outcome = {.result = result,
                                         .node = part_name(HANDLE_NODE, node, owner),
                                         .from_node = part_name(HANDLE_NODE, from, owner)};

    if (room >= sizeof(outcome))
        serve_reply_bytes(serve, &outcome, sizeof(outcome));
}

void exec_need(struct serve *serve, uint64_t handle, const struct context_set *contexts,
               enum part_need_how how)
{
    if (serve_failed(serve))
        return;
    struct context_set *needs = session.notes[handle_index(handle)].needs;
    if (how == PART_NEEDS_ONLY)
        context_set_clear(needs);
    if (!context_set_join(needs, contexts))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

// Ties the handle to what was instantiated, which then has *NEEDS, or is ended.
static void enter_exec(struct serve *serve, uint64_t handle, CUgraphExec exec,
                       const struct context_set *needs)
{
    struct context_set *kept = malloc(sizeof(*kept));

    if (!kept)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (!serve_failed(serve))
        serve_bind(serve, HANDLE_EXEC, handle, exec, 0);
    if (serve_failed(serve)) {
        driver.cuGraphExecDestroy(exec);
        free(kept);
        return;
    }
    *kept = *needs;
    session.notes[handle_index(handle)].needs = kept;
}

static void instantiate_known(struct serve *serve, const struct args_graph_instantiate *args,
                              CUgraph graph, const struct context_set *needs)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = args->flags};
    struct graph_need *need = NULL;
    CUgraphExec exec = NULL;

    if (args->with_upload)
        params.hUploadStream = serve_handle(serve, HANDLE_STREAM, args->upload);
    if (serve_failed(serve))
        return;
    graph_calls_free_memory();
    bool counted = graph_size_take(serve, args->exec, graph, needs);
    serve_fail(serve, graph_need_find(graph, &need));
    if (args->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD && !serve_failed(serve))
        serve_fail(serve, graph_need_take(need));
    if (!serve_failed(serve)) {
        serve_fail(serve, serve_graph_exec_instantiate(&exec, graph, &params));
        serve_graph_exec_tell(serve, params.result_out, params.hErrNode_out, NULL, args->graph,
                              args->reply_room);
    }
    if (!serve_failed(serve))
        enter_exec(serve, args->exec, exec, needs);
    if (serve_failed(serve)) {
        graph_need_drop(need);
        if (counted)
            graph_size_end(args->exec);
    } else {
        graph_need_is(need, exec);
    }
}

void serve_graph_instantiate(struct serve *serve, const struct args_graph_instantiate *args)
{
    struct context_set needs = {0};
    CUgraph graph = graph_that_lives(serve, args->graph, &needs);

    instantiate_known(serve, args, graph, &needs);
    if (serve_failed(serve))
        context_set_clear(&needs);
}

void serve_graph_exec_name(struct serve *serve, const struct args_graph_exec_name *args,
                           struct reply_graph_exec_name *reply)
{
    reply->name = (uintptr_t)serve_handle(serve, HANDLE_EXEC, args->exec);
}

void serve_cuGraphExecDestroy(struct serve *serve, const struct args_cuGraphExecDestroy *args)
{
    CUgraphExec exec = handle_find(session.handles, args->hGraphExec, HANDLE_EXEC);

    if (!exec)
        serve_fail(serve, wire_wrong_handle(HANDLE_EXEC));
    if (!serve_require(serve, driver.cuGraphExecDestroy))
        return;
    struct context_set *needs = session.notes[handle_index(args->hGraphExec)].needs;
    serve_unbind(serve, HANDLE_EXEC, args->hGraphExec);
    context_set_clear(needs);
    free(needs);
    serve_fail(serve, driver.cuGraphExecDestroy(exec));
    graph_calls_end_exec(serve, args->hGraphExec);
    graph_size_end(args->hGraphExec);
    graph_calls_free_memory();
    if (graph_charge_counts())
        graph_charge_end(exec);
}

void serve_graph_update(struct serve *serve, const struct args_graph_update *args, CUgraphExec exec)
{
    struct context_set needs = {0};
    CUgraph graph = graph_that_lives(serve, args->graph, &needs);
    CUgraphExecUpdateResultInfo info = {0};

    if (serve_require(serve, driver.cuGraphExecUpdate_v2)) {
        serve_fail(serve, driver.cuGraphExecUpdate_v2(exec, graph, &info));
        exec_need(serve, args->exec, &needs, PART_NEEDS_ONLY);
        serve_graph_exec_tell(serve, info.result, info.errorNode, info.errorFromNode, args->graph,
                              args->reply_room);
    }
    context_set_clear(&needs);
}
