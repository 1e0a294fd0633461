// SPDX-License-Identifier: BSD-3-Clause
// Stream management: capturing the work of streams into graphs.
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/api/graph_handles.h"
#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/memory/kept_memory.h"
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/work/graph_objects.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"
#include "common/base/scope.h"

enum { DEPENDENCIES_MAX = WIRE_INLINE_MAX / sizeof(struct wire_dependency) };

// ---- beginning and ending ----

// Returns the failure of earlier work before the capture begins. If it came with the answer to the
// begin request, the caller could not see that the stream is captured. What the program has freed
// in a stream's order is freed first, so that the graph does not free it.
static CUresult hear_failures(CUstream stream)
{
    CUstreamCaptureStatus status;
    kept_give_back_ordered();
    return remote_cuStreamIsCapturing(stream, &status);
}

CUresult cuStreamBeginCapture_v2(CUstream named, CUstreamCaptureMode mode)
{
    struct box_session *session;
    CUstream stream;
    if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = copy_begin(named, &session, &stream);
    if (result == CUDA_SUCCESS)
        result = hear_failures(stream);
    if (result == CUDA_SUCCESS)
        result = capture_enter(session, stream, mode, false);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_cuStreamBeginCapture_v2(stream, mode);
    if (result != CUDA_SUCCESS)
        capture_abandon(stream);
    return result;
}

CUresult cuStreamBeginCaptureToGraph(CUstream named, CUgraph graph, const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t count,
                                     CUstreamCaptureMode mode)
{
    struct box_session *session;
    struct object *object;
    CUstream stream;
    SCOPED_FREE struct wire_dependency *wire = NULL;
    CUresult result = graph_handle_find(HANDLE_GRAPH, graph, &object);
    if (result == CUDA_SUCCESS && ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED ||
                                   (count && !after) || count > DEPENDENCIES_MAX))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = copy_begin(named, &session, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    wire = malloc((count + 1) * sizeof(*wire));
    if (!wire)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (graph_pack_dependencies(session, after, edges, count, wire) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    result = hear_failures(stream);
    if (result == CUDA_SUCCESS)
        result = capture_enter(session, stream, mode, true);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_capture_to_graph(stream, graph, mode, (uint32_t)count, edges != NULL, wire,
                                     count * sizeof(*wire));
    if (result != CUDA_SUCCESS)
        capture_abandon(stream);
    return result;
}

// After an error the box is queried: if the capture has ended, its graph is dropped; otherwise only
// the call was invalid.
static void settle_failure(struct box_session *session, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (capture_status(session, stream, &status) == CUDA_SUCCESS &&
        status != CU_STREAM_CAPTURE_STATUS_NONE)
        return;
    uint64_t found = captures_end(stream);
    if (found)
        graph_object_drop((void *)(uintptr_t)found);
}

static CUresult end_here(struct box_session *session, CUstream stream, CUgraph *out)
{
    CUgraph graph = NULL;
    uint64_t known = 0;
    GRAPH_FINDING(finding);
    CUresult result = remote_capture_end(stream, capture_found(stream), &graph, &known);
    if (result != CUDA_SUCCESS) {
        settle_failure(session, stream);
        return result;
    }
    captures_end(stream);
    if (known) {
        object_retire(HANDLE_GRAPH, (uintptr_t)graph);
        if (graph_name_found(session, HANDLE_GRAPH, &known, 1, 0) != CUDA_SUCCESS)
            return CUDA_ERROR_UNKNOWN;
        graph = (CUgraph)(uintptr_t)known;
    }
    *out = graph;
    return CUDA_SUCCESS;
}

// Returns the error for an invalid argument, or CUDA_ERROR_ILLEGAL_STATE if the stream is not
// captured: the driver checks that first.
static CUresult cu_capture_refuse(struct box_session *session, CUstream stream)
{
    CUstreamCaptureStatus status;
    CUresult result = capture_status(session, stream, &status);
    if (result != CUDA_SUCCESS)
        return result;
    return status == CU_STREAM_CAPTURE_STATUS_NONE ? CUDA_ERROR_ILLEGAL_STATE
                                                   : CUDA_ERROR_INVALID_VALUE;
}

// Ends the capture of the stream. OUT may be NULL if the program captures into its own graph, since
// it has the handle already.
CUresult cuStreamEndCapture(CUstream named, CUgraph *out)
{
    struct box_session *session;
    CUstream stream;
    CUgraph graph = NULL;
    CUresult result = copy_begin(named, &session, &stream);
    const bool own = result == CUDA_SUCCESS && capture_is_into_own(stream);
    if (result == CUDA_SUCCESS && !out && !own)
        result = cu_capture_refuse(session, stream);
    if (result != CUDA_SUCCESS)
        return result;
    // A call from another thread ends the capture as well, but returns no graph.
    CUresult allowed = capture_may_end(stream);
    result = end_here(session, stream, &graph);
    if (result == CUDA_SUCCESS && allowed != CUDA_SUCCESS && !own)
        cuGraphDestroy(graph);
    if (out)
        *out = result == CUDA_SUCCESS && allowed == CUDA_SUCCESS ? graph : NULL;
    return allowed != CUDA_SUCCESS ? allowed : result;
}

// ---- queries ----

CUresult cuStreamIsCapturing(CUstream named, CUstreamCaptureStatus *status)
{
    struct box_session *session;
    CUstream stream;
    CUresult result = copy_begin(named, &session, &stream);
    if (result == CUDA_SUCCESS && !status)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? capture_status(session, stream, status) : result;
}

// The arrays that the last query returned to the program. They are valid until the next query of
// the same thread.
static __thread struct {
    CUgraphNode *nodes;
    CUgraphEdgeData *edges;
    size_t room;
} shown;

static CUresult cu_capture_show(struct box_session *session, const struct wire_dependency *list,
                                size_t count, uint64_t graph)
{
    SCOPED_FREE uint64_t *names = malloc((count + 1) * sizeof(*names));
    if (shown.room < count + 1) {
        free(shown.nodes);
        free(shown.edges);
        shown.room = 2 * count + 16;
        shown.nodes = calloc(shown.room, sizeof(*shown.nodes));
        shown.edges = calloc(shown.room, sizeof(*shown.edges));
    }
    if (!names || !shown.nodes || !shown.edges) {
        shown.room = 0;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        names[i] = list[i].node;
    CUresult result = graph_name_found(session, HANDLE_NODE, names, count, graph);
    for (size_t i = 0; i < count; i++) {
        shown.nodes[i] = (CUgraphNode)(uintptr_t)names[i];
        shown.edges[i] = list[i].edge;
    }
    return result;
}

// The values that a caller queries; any pointer but STATUS may be NULL.
struct capture_questions {
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **nodes;
    const CUgraphEdgeData **edges;
    size_t *count;
    bool lossy; // the caller queries nodes, but not the edges' data
};

static bool has_data(size_t count)
{
    static const CUgraphEdgeData none;
    for (size_t i = 0; i < count; i++)
        if (memcmp(&shown.edges[i], &none, sizeof(none)) != 0)
            return true;
    return false;
}

static CUresult cu_capture_ask(struct box_session *session, CUstream stream,
                               const struct capture_questions *wanted)
{
    SCOPED_FREE struct wire_dependency *list = malloc(WIRE_INLINE_MAX);
    uint64_t id = 0, graph = 0;
    uint32_t total = 0;
    size_t used = 0;
    if (!list)
        return CUDA_ERROR_OUT_OF_MEMORY;
    GRAPH_FINDING(finding);
    CUresult result = remote_capture_info(stream, 0, wanted->status, &id, &graph, &total, list,
                                          WIRE_INLINE_MAX, &used);
    if (result != CUDA_SUCCESS || *wanted->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return result;
    bool fresh = graph && graph >> 32 == 0;
    result = graph_name_found(session, HANDLE_GRAPH, &graph, 1, 0);
    if (result == CUDA_SUCCESS && fresh)
        capture_note_found(stream, graph);
    size_t count = used / sizeof(*list);
    if (result == CUDA_SUCCESS)
        result = cu_capture_show(session, list, count, graph);
    if (result != CUDA_SUCCESS)
        return result;
    if (wanted->id)
        *wanted->id = id;
    if (wanted->graph)
        *wanted->graph = (CUgraph)(uintptr_t)graph;
    if (wanted->nodes)
        *wanted->nodes = shown.nodes;
    if (wanted->edges)
        *wanted->edges = shown.edges;
    if (wanted->count)
        *wanted->count = count;
    return wanted->lossy && has_data(count) ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream named, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **nodes,
                                   const CUgraphEdgeData **edges, size_t *count)
{
    struct capture_questions wanted = {status, id, graph, nodes, edges, count, nodes && !edges};
    struct box_session *session;
    CUstream stream;
    CUresult result = copy_begin(named, &session, &stream);
    if (result == CUDA_SUCCESS && !status)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!atomic_load_explicit(&session->captures, memory_order_relaxed))
        return CUDA_SUCCESS;
    return cu_capture_ask(session, stream, &wanted);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream named, CUgraphNode *nodes,
                                              const CUgraphEdgeData *edges, size_t count,
                                              unsigned int flags)
{
    struct box_session *session;
    CUstream stream;
    SCOPED_FREE struct wire_dependency *wire = NULL;
    CUresult result = copy_begin(named, &session, &stream);
    if (result == CUDA_SUCCESS && ((count && !nodes) || count > DEPENDENCIES_MAX))
        result = cu_capture_refuse(session, stream);
    if (result != CUDA_SUCCESS)
        return result;
    wire = malloc((count + 1) * sizeof(*wire));
    if (!wire)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (graph_pack_dependencies(session, nodes, edges, count, wire) < 0)
        return cu_capture_refuse(session, stream);
    return remote_capture_depend(stream, flags, (uint32_t)count, edges != NULL, wire,
                                 count * sizeof(*wire));
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    struct thread_state *thread = thread_state();
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUstreamCaptureMode before = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
