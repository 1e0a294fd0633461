// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls that query and modify running captures.
#include <stdlib.h>
#include <string.h>

#include "sim/graph/graph.h"
#include "common/base/scope.h"

struct question {
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **nodes;
    const CUgraphEdgeData **edges;
    size_t *count;
};

// Returns the capture's points in its own arrays, which are valid until the next query.
static CUresult tell_points(struct captured *captured, const struct question *question)
{
    static const CUgraphEdgeData plain;
    size_t room = captured->count ? captured->count : 1;
    CUgraphNode *nodes = realloc(captured->handles, room * sizeof(*nodes));
    SIM_RETURN_IF(!nodes, CUDA_ERROR_OUT_OF_MEMORY);
    captured->handles = nodes;
    CUgraphEdgeData *edges = realloc(captured->edges, room * sizeof(*edges));
    SIM_RETURN_IF(!edges, CUDA_ERROR_OUT_OF_MEMORY);
    captured->edges = edges;
    for (size_t i = 0; i < captured->count; i++) {
        nodes[i] = node_handle((struct node *)captured->points[i].node);
        edges[i] = captured->points[i].edge;
        SIM_RETURN_IF(question->nodes && !question->edges &&
                          memcmp(&edges[i], &plain, sizeof(plain)),
                      CUDA_ERROR_LOSSY_QUERY);
    }
    if (question->nodes)
        *question->nodes = nodes;
    if (question->edges)
        *question->edges = edges;
    if (question->count)
        *question->count = captured->count;
    return CUDA_SUCCESS;
}

// Answers a query. Without a capture, or with an invalid one, it returns only the status. Called
// under the lock.
static CUresult capture_info_answer(struct stream *stream, const struct question *question)
{
    struct captured *captured = stream->captured;
    *question->status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!captured)
        return CUDA_SUCCESS;
    *question->status = captured->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (captured->capture->invalid)
        return CUDA_SUCCESS;
    if (question->id)
        *question->id = captured->capture->id;
    if (question->graph)
        *question->graph = graph_handle((struct graph *)captured->capture->graph);
    return tell_points(captured, question);
}

static CUresult capture_info(CUstream handle, const struct question *question)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (question->status) {
        result = capture_refuse_legacy(stream);
        SCOPED_LOCK(&graph_mutex);
        if (!result)
            result = capture_info_answer(stream, question);
    }
    return result;
}

#define ASK(...) (&(const struct question){__VA_ARGS__})

SIM_CALL(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status),
         capture_info(stream, ASK(.status = status)))
SIM_CALL(cuStreamGetCaptureInfo_v3,
         (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
          const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count),
         capture_info(stream, ASK(status, id, graph, nodes, edges, count)))

static CUresult capture_info_update(struct stream *stream, const CUgraphNode *nodes,
                                    const CUgraphEdgeData *edges, size_t count, unsigned flags)
{
    static const CUgraphEdgeData plain;
    struct captured *captured = stream->captured;
    SIM_RETURN_IF(!captured, CUDA_ERROR_ILLEGAL_STATE);
    SIM_RETURN_IF(captured->capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    SIM_RETURN_IF(flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(edge_check_dependencies((struct graph *)captured->capture->graph, nodes, edges, count));
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        captured_set_points(captured, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        struct node *node;
        SIM_TRY(node_find(nodes[i], &node));
        SIM_TRY(captured_add_point(captured, &node->object, edges ? &edges[i] : &plain));
    }
    return CUDA_SUCCESS;
}

SIM_API(cuStreamUpdateCaptureDependencies_v2, CUstream handle, const CUgraphNode *nodes,
        const CUgraphEdgeData *edges, size_t count, unsigned flags)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    SCOPED_LOCK(&graph_mutex);
    return capture_info_update(stream, nodes, edges, count, flags);
}
