// SPDX-License-Identifier: BSD-3-Clause
// Tracks the streams being captured: how a capture spreads from stream to stream through events,
// and what invalidates it.
#include "sim/engine/capture.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"

// Recursive, because dropping a graph may drop the last reference to an event, which locks the
// mutex again when it ends.
pthread_mutex_t graph_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static struct capture_sequence *captures; // in progress
static atomic_uint capture_count;         // their number; while it is 0, calls skip the lock
static uint64_t next_capture_id = 1;
static const struct capture_ops *capture_ops;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void capture_put(struct capture_sequence *capture)
{
    if (--capture->references)
        return;
    object_put(capture->graph);
    free(capture);
}

static void drop_points(struct captured *captured)
{
    for (size_t i = 0; i < captured->count; i++)
        object_put(captured->points[i].node);
    free(captured->points);
    captured->points = NULL;
    captured->count = 0;
}

void captured_free(struct captured **captured)
{
    if (!*captured)
        return;
    drop_points(*captured);
    capture_put((*captured)->capture);
    free((*captured)->handles);
    free((*captured)->edges);
    free(*captured);
    __atomic_store_n(captured, NULL, __ATOMIC_RELAXED);
}

void captured_set_points(struct captured *captured, struct capture_point *points, size_t count)
{
    drop_points(captured);
    captured->points = points;
    captured->count = count;
}

CUresult captured_add_point(struct captured *captured, struct sim_object *node,
                            const CUgraphEdgeData *edge)
{
    for (size_t i = 0; i < captured->count; i++)
        if (captured->points[i].node == node &&
            !memcmp(&captured->points[i].edge, edge, sizeof(*edge)))
            return CUDA_SUCCESS;
    struct capture_point *points =
        realloc(captured->points, (captured->count + 1) * sizeof(*points));
    SIM_RETURN_IF(!points, CUDA_ERROR_OUT_OF_MEMORY);
    object_hold(node);
    points[captured->count] = (struct capture_point){node, *edge};
    captured->points = points;
    captured->count++;
    return CUDA_SUCCESS;
}

static struct captured *captured_new(struct capture_sequence *capture, struct stream *stream)
{
    struct captured *captured = calloc(1, sizeof(*captured));
    if (!captured)
        return NULL;
    captured->capture = capture;
    capture->references++;
    captured->stream = stream;
    if (stream) {
        captured->next = capture->streams;
        capture->streams = captured;
        stream->captured = captured;
    }
    return captured;
}

static CUresult add_points(struct captured *to, const struct captured *from)
{
    for (size_t i = 0; i < from->count; i++)
        SIM_TRY(captured_add_point(to, from->points[i].node, &from->points[i].edge));
    return CUDA_SUCCESS;
}

CUresult capture_open(struct stream *stream, CUstreamCaptureMode mode, struct sim_object *graph,
                      bool graph_is_new, const struct capture_ops *ops, struct captured **out)
{
    struct capture_sequence *capture = calloc(1, sizeof(*capture));
    SIM_RETURN_IF(!capture, CUDA_ERROR_OUT_OF_MEMORY);
    *out = captured_new(capture, stream);
    if (!*out) {
        free(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->id = next_capture_id++;
    capture->origin = stream;
    capture->graph = graph;
    capture->graph_is_new = graph_is_new;
    object_hold(graph);
    capture->next = captures;
    captures = capture;
    capture_ops = ops;
    atomic_fetch_add(&capture_count, 1);
    return CUDA_SUCCESS;
}

void capture_close(struct capture_sequence *capture)
{
    struct capture_sequence **link = &captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    capture->over = true;
    atomic_fetch_sub(&capture_count, 1);
    capture->references++;
    while (capture->streams) {
        struct captured *captured = capture->streams;
        capture->streams = captured->next;
        captured->stream->captured = NULL;
        captured_free(&captured);
    }
    capture_put(capture);
}

void capture_invalidate(struct capture_sequence *capture)
{
    capture->invalid = true;
}

bool capture_is_of(const struct sim_object *graph)
{
    for (const struct capture_sequence *c = captures; c; c = c->next)
        if (c->graph == graph)
            return true;
    return false;
}

static bool none_in_progress(void)
{
    return !atomic_load_explicit(&capture_count, memory_order_acquire);
}

bool capture_contains(struct stream *stream)
{
    if (none_in_progress())
        return false;
    SCOPED_LOCK(&graph_mutex);
    return stream->captured;
}

// Invalidates the capture. Called under the lock.
static CUresult spoil(struct capture_sequence *capture, CUresult result)
{
    if (capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    capture_invalidate(capture);
    return result;
}

CUresult capture_add(struct stream *stream, struct capture_item *item)
{
    SCOPED_LOCK(&graph_mutex);
    struct captured *captured = stream->captured;
    SIM_RETURN_IF(!captured, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); // the capture ended meanwhile
    SIM_RETURN_IF(captured->capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return capture_ops->add(captured, item);
}

// Invalidates the captures whose streams the legacy stream would wait for. Called under the lock.
static CUresult refuse_implicit(const struct stream *legacy)
{
    CUresult result = CUDA_SUCCESS;
    for (struct capture_sequence *c = captures; c; c = c->next)
        for (struct captured *s = c->streams; s; s = s->next) {
            if (s->stream->context != legacy->context || s->stream->flags & CU_STREAM_NON_BLOCKING)
                continue;
            capture_invalidate(c);
            result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    return result;
}

CUresult capture_refuse(struct stream *stream)
{
    if (none_in_progress())
        return CUDA_SUCCESS;
    SCOPED_LOCK(&graph_mutex);
    if (stream->captured)
        return spoil(stream->captured->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return stream->legacy ? refuse_implicit(stream) : CUDA_SUCCESS;
}

// A query of the legacy stream invalidates no capture.
CUresult capture_refuse_legacy(struct stream *stream)
{
    if (none_in_progress() || !stream->legacy)
        return CUDA_SUCCESS;
    SCOPED_LOCK(&graph_mutex);
    for (struct capture_sequence *c = captures; c; c = c->next)
        for (struct captured *s = c->streams; s; s = s->next)
            if (s->stream->context == stream->context &&
                !(s->stream->flags & CU_STREAM_NON_BLOCKING))
                return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return CUDA_SUCCESS;
}

CUresult capture_refuse_context(const struct context *context)
{
    CUresult result = CUDA_SUCCESS;
    if (none_in_progress())
        return CUDA_SUCCESS;
    SCOPED_LOCK(&graph_mutex);
    for (struct capture_sequence *c = captures; c; c = c->next)
        for (struct captured *s = c->streams; s; s = s->next)
            if (s->stream->context == context) {
                capture_invalidate(c);
                result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
            }
    return result;
}

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode old = thread_mode;
    thread_mode = mode;
    return old;
}

// Returns true if the capture forbids unsafe calls of this thread. Called under the lock.
static bool forbids(const struct capture_sequence *capture)
{
    if (pthread_equal(capture->thread, pthread_self()))
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_check_unsafe(void)
{
    CUresult result = CUDA_SUCCESS;
    if (none_in_progress() || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    SCOPED_LOCK(&graph_mutex);
    for (struct capture_sequence *c = captures; c; c = c->next) {
        if (!forbids(c))
            continue;
        capture_invalidate(c);
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

void capture_give_up(struct stream *stream)
{
    if (none_in_progress())
        return;
    SCOPED_LOCK(&graph_mutex);
    struct captured *captured = stream->captured;
    if (!captured)
        return;
    struct capture_sequence *capture = captured->capture;
    capture_invalidate(capture);
    if (capture->origin == stream) {
        struct sim_object *graph = capture->graph_is_new ? capture->graph : NULL;
        capture_close(capture);
        if (graph)
            capture_ops->give_up(graph);
        return;
    }
    struct captured **link = &capture->streams;
    while (*link != captured)
        link = &(*link)->next;
    *link = captured->next;
    stream->captured = NULL;
    captured_free(&captured);
}

static struct captured *peek(struct captured **event)
{
    return __atomic_load_n(event, __ATOMIC_RELAXED);
}

CUresult capture_record(struct stream *stream, struct captured **event, bool *handled)
{
    *handled = false;
    if (none_in_progress() && !peek(event))
        return CUDA_SUCCESS;
    SCOPED_LOCK(&graph_mutex);
    captured_free(event);
    if (!stream->captured)
        return CUDA_SUCCESS;
    *handled = true;
    struct capture_sequence *capture = stream->captured->capture;
    SIM_RETURN_IF(capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    struct captured *made = captured_new(capture, NULL);
    SIM_RETURN_IF(!made, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = add_points(made, stream->captured);
    if (result)
        captured_free(&made);
    __atomic_store_n(event, made, __ATOMIC_RELAXED);
    return result;
}

// Adds the stream to the capture of the event. Called under the lock.
static CUresult capture_join(struct stream *stream, const struct captured *event)
{
    struct capture_sequence *capture = event->capture;
    struct captured *captured = stream->captured;
    SIM_RETURN_IF(capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream->legacy)
        return spoil(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (!captured)
        captured = captured_new(capture, stream);
    SIM_RETURN_IF(!captured, CUDA_ERROR_OUT_OF_MEMORY);
    return add_points(captured, event);
}

CUresult capture_wait(struct stream *stream, struct captured **event_place, bool event_is_recorded,
                      bool *handled)
{
    *handled = false;
    if (none_in_progress() && !peek(event_place))
        return CUDA_SUCCESS;
    SCOPED_LOCK(&graph_mutex);
    struct captured *captured = stream->captured, *event = *event_place;
    bool live = event && !event->capture->over;
    if (!captured && !event)
        return CUDA_SUCCESS;
    *handled = true;
    if (captured && captured->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (live && (!captured || captured->capture == event->capture))
        return capture_join(stream, event);
    if (live) {
        capture_invalidate(event->capture);
        return spoil(captured->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (!captured)
        return CUDA_ERROR_INVALID_VALUE;
    // An event that was never recorded has nothing to wait for.
    if (!event && !event_is_recorded)
        return CUDA_SUCCESS;
    return spoil(captured->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

CUresult capture_check_event(struct captured **event, bool spoils)
{
    if (!peek(event))
        return CUDA_SUCCESS;
    SCOPED_LOCK(&graph_mutex);
    SIM_RETURN_IF(!*event, CUDA_SUCCESS);
    SIM_RETURN_IF((*event)->capture->over, CUDA_ERROR_INVALID_VALUE);
    if (spoils)
        capture_invalidate((*event)->capture);
    return CUDA_ERROR_CAPTURED_EVENT;
}
