// SPDX-License-Identifier: BSD-3-Clause
// Stream capture. Several threads of the worker may serve requests of one thread of the client, so
// the worker captures in relaxed mode; the client enforces the restrictions of other modes.
#include <string.h>

#include "proto/wire.h"
#include "daemon/worker/graphs/capture_contexts.h"
#include "daemon/worker/graphs/graph_calls.h"
#include "daemon/worker/graphs/graph_params.h"
#include "daemon/worker/graphs/graph_parts.h"
#include "daemon/worker/graphs/serve_graph.h"
#include "daemon/worker/graphs/serve_graph_node.h"
#include "worker_driver.h"
#include "worker_serve.h"

static CUresult serve_capture_ask(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                  CUgraph *graph, const CUgraphNode **nodes,
                                  const CUgraphEdgeData **edges, size_t *count)
{
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;

    *edges = NULL;
    if (driver.cuStreamGetCaptureInfo_v3)
        result = driver.cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count);
    else if (driver.cuStreamGetCaptureInfo_v2)
        result = driver.cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
    return result;
}

// Number of the capture that STREAM takes part in; 0: none.
static cuuint64_t capture_number(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *nodes;
    const CUgraphEdgeData *edges;
    CUgraph graph;
    cuuint64_t id = 0;
    size_t count;

    return serve_capture_ask(stream, &status, &id, &graph, &nodes, &edges, &count) ==
                       CUDA_SUCCESS &&
                   status == CU_STREAM_CAPTURE_STATUS_ACTIVE
               ? id
               : 0;
}

// A captured graph needs the contexts of all streams that take part.
static void serve_capture_note_context(struct serve *serve, CUstream stream, uint64_t handle)
{
    cuuint64_t number = serve_failed(serve) ? 0 : capture_number(stream);

    if (number && !capture_context_note(number, serve_context_of(serve, handle)))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

// A stream joins a capture by waiting for an event of it.
void serve_cuStreamWaitEvent(struct serve *serve, const struct args_cuStreamWaitEvent *args,
                             CUstream stream, CUevent event)
{
    serve_fail(serve, driver.cuStreamWaitEvent(stream, event, args->Flags));
    if (capture_contexts_any())
        serve_capture_note_context(serve, stream, args->hStream);
}

static bool known_mode(struct serve *serve, int32_t mode)
{
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return !serve_failed(serve);
}

void serve_cuStreamBeginCapture_v2(struct serve *serve,
                                   const struct args_cuStreamBeginCapture_v2 *args, CUstream stream)
{
    if (known_mode(serve, args->mode) && serve_require(serve, driver.cuStreamBeginCapture_v2))
        serve_fail(serve, driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    serve_capture_note_context(serve, stream, args->hStream);
}

void serve_capture_to_graph(struct serve *serve, const struct args_capture_to_graph *args,
                            CUstream stream, CUgraph graph)
{
    static __thread struct dependencies after;

    if (!known_mode(serve, args->mode) ||
        !dependencies_read(serve, args + 1, args->bytes, args->count, args->edges, &after) ||
        !serve_require(serve, driver.cuStreamBeginCaptureToGraph))
        return;
    serve_fail(serve,
               driver.cuStreamBeginCaptureToGraph(stream, graph, after.nodes,
                                                  after.with_edges ? after.edges : NULL,
                                                  after.count, CU_STREAM_CAPTURE_MODE_RELAXED));
    serve_capture_note_context(serve, stream, args->stream);
}

static bool serve_capture_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    return driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void serve_capture_end(struct serve *serve, const struct args_capture_end *args,
                       struct reply_capture_end *reply, CUstream stream)
{
    CUgraph graph = NULL;

    cuuint64_t number = capture_number(stream);
    serve_fail(serve, driver.cuStreamEndCapture(stream, &graph));
    if (serve_failed(serve) || !graph) {
        // The graph is gone, unless the capture goes on.
        if (!serve_capture_is_captured(stream)) {
            part_drop(args->found, PART_WHOLE);
            capture_context_end(number, 0);
        }
        return;
    }
    reply->known = part_known(graph);
    if (!reply->known)
        part_bind(serve, HANDLE_GRAPH, args->graph, graph, 0);
    if (!capture_context_end(number, reply->known ? reply->known : args->graph))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

// ---- what is under way ----

void serve_capture_info(struct serve *serve, const struct args_capture_info *args,
                        struct reply_capture_info *reply, CUstream stream)
{
    const CUgraphNode *nodes = NULL;
    const CUgraphEdgeData *edges = NULL;
    CUgraph graph = NULL;
    cuuint64_t id = 0;
    size_t count = 0;

    serve_fail(serve,
               serve_capture_ask(stream, &reply->status, &id, &graph, &nodes, &edges, &count));
    if (serve_failed(serve) || reply->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return;
    reply->id = id;
    reply->graph = part_name(HANDLE_GRAPH, graph, 0);
    reply->total = (uint32_t)count;
    struct wire_dependency *at = (void *)serve->bytes;
    size_t room = serve_reply_room(serve, args->reply_room) / sizeof(*at), n = 0;
    for (size_t i = args->first; i < count && n < room; i++, n++) {
        at[n] = (struct wire_dependency){.node = part_name(HANDLE_NODE, nodes[i], reply->graph)};
        if (edges)
            at[n].edge = edges[i];
    }
    serve_reply_bytes(serve, at, n * sizeof(*at));
}

void serve_capture_depend(struct serve *serve, const struct args_capture_depend *args,
                          CUstream stream)
{
    static __thread struct dependencies after;

    if (!dependencies_read(serve, args + 1, args->bytes, args->count, args->edges, &after))
        return;
    if (driver.cuStreamUpdateCaptureDependencies_v2)
        serve_fail(serve, driver.cuStreamUpdateCaptureDependencies_v2(
                              stream, after.nodes, after.with_edges ? after.edges : NULL,
                              after.count, args->flags));
    else
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
}

// ---- what the client does at each launch ----

// The graph that STREAM is captured into; NULL: noted.
static CUgraph captured_graph(struct serve *serve, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *nodes;
    const CUgraphEdgeData *edges;
    CUgraph graph = NULL;
    cuuint64_t id;
    size_t count;

    serve_fail(serve, serve_capture_ask(stream, &status, &id, &graph, &nodes, &edges, &count));
    if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        serve_fail(serve, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    else if (!graph)
        serve_fail(serve, CUDA_ERROR_ILLEGAL_STATE);
    return serve_failed(serve) ? NULL : graph;
}

// Sets *OUT to the dependencies of the next node in STREAM.
static bool dependencies_of_capture(struct serve *serve, CUstream stream, struct dependencies *out)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode *nodes = NULL;
    const CUgraphEdgeData *edges = NULL;
    CUgraph graph = NULL;
    cuuint64_t id;
    size_t count = 0;

    serve_fail(serve, serve_capture_ask(stream, &status, &id, &graph, &nodes, &edges, &count));
    if (count > DEPENDENCIES_MAX)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    if (serve_failed(serve))
        return false;
    out->count = (uint32_t)count;
    out->with_edges = edges != NULL;
    memcpy(out->nodes, nodes, count * sizeof(CUgraphNode));
    if (edges)
        memcpy(out->edges, edges, count * sizeof(CUgraphEdgeData));
    return true;
}

static CUresult capture_call(CUstream stream, struct graph_call *call)
{
    CUDA_HOST_NODE_PARAMS called = graph_call_params(call);

    return driver.cuLaunchHostFunc ? driver.cuLaunchHostFunc(stream, called.fn, called.userData)
                                   : CUDA_ERROR_NOT_SUPPORTED;
}

void serve_capture_host(struct serve *serve, const struct args_capture_host *args, CUstream stream)
{
    CUgraph graph = serve_failed(serve) ? NULL : captured_graph(serve, stream);
    struct graph_call *call = graph ? graph_call_function(serve, args->token) : NULL;

    if (!call) {
        graph_callback_refuse(args->token);
        return;
    }
    serve_fail(serve, capture_call(stream, call));
    if (serve_failed(serve))
        graph_call_drop(call);
    else
        graph_call_give(serve, call, graph);
}

// The copy becomes one node behind what the stream has captured last.
static void capture_copy_node(struct serve *serve, CUstream stream, CUgraph graph,
                              struct node_params *params)
{
    static __thread struct dependencies after;
    CUgraphNode node = NULL;

    if (!dependencies_of_capture(serve, stream, &after)) {
        graph_call_drop(params->call);
        return;
    }
    graph_add_copy(serve, &node, graph, &after, params);
    if (!serve_failed(serve) && serve_require(serve, driver.cuStreamUpdateCaptureDependencies_v2))
        serve_fail(serve,
                   driver.cuStreamUpdateCaptureDependencies_v2(stream, &node, NULL, 1,
                                                               CU_STREAM_SET_CAPTURE_DEPENDENCIES));
}

void serve_capture_copy(struct serve *serve, const struct args_capture_copy *args, CUstream stream)
{
    static __thread struct node_params params;
    CUgraph graph = serve_failed(serve) ? NULL : captured_graph(serve, stream);

    node_params_read(serve, CU_GRAPH_NODE_TYPE_MEMCPY, args + 1, args->bytes, &params);
    if (serve_failed(serve))
        return;
    if (params.call)
        capture_copy_node(serve, stream, graph, &params);
    else if (serve_require(serve, driver.cuMemcpy3DAsync_v2))
        serve_fail(serve, driver.cuMemcpy3DAsync_v2(&params.params.memcpy.copyParams, stream));
}
