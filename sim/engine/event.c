// SPDX-License-Identifier: BSD-3-Clause
// Each record of an event is an object of its own: a new record does not disturb threads that wait
// for an earlier one.
#include "sim/engine/capture.h"
#include "sim/engine/event.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/scope.h"

struct record {
    atomic_int references;
    struct stream *stream;
    uint64_t sequence;
    uint64_t time_ns; // valid once the stream has reached the sequence
};

struct event {
    struct sim_object object;
    unsigned flags;
    pthread_mutex_t lock;
    struct record *record;     // the last record; NULL: never recorded
    struct captured *captured; // position in the capture of its last record; under graph_mutex
};

struct record_operation {
    struct operation operation;
    struct record *record;
};

static void record_put(struct record *record)
{
    if (!record || atomic_fetch_sub(&record->references, 1) != 1)
        return;
    object_put(&record->stream->object);
    free(record);
}

// Returns the last record with a reference, or NULL.
static struct record *last_record(struct event *event)
{
    SCOPED_LOCK(&event->lock);
    struct record *record = event->record;
    if (record)
        atomic_fetch_add(&record->references, 1);
    return record;
}

static bool record_done(const struct record *record)
{
    return !record || stream_reached(record->stream, record->sequence);
}

CUresult event_get(CUevent handle, struct event **out)
{
    SIM_TRY(sim_check_ready());
    struct event *event = handle_get(OBJECT_EVENT, handle);
    SIM_RETURN_IF(!event, CUDA_ERROR_INVALID_HANDLE);
    CUresult result = context_status(event->object.context);
    if (result) {
        event_put(event);
        return result;
    }
    *out = event;
    return CUDA_SUCCESS;
}

void event_put(struct event *event)
{
    object_put(&event->object);
}

static CUresult run_record(struct operation *operation, struct stream *stream)
{
    ((struct record_operation *)operation)->record->time_ns = clock_ns();
    return CUDA_SUCCESS;
}

static void release_record(struct operation *operation)
{
    record_put(((struct record_operation *)operation)->record);
    free(operation);
}

static struct record_operation *record_operation_create(struct stream *stream)
{
    struct record_operation *operation =
        operation_create(sizeof(*operation), run_record, release_record);
    if (!operation)
        return NULL;
    operation->record = calloc(1, sizeof(*operation->record));
    if (!operation->record) {
        free(operation);
        return NULL;
    }
    atomic_init(&operation->record->references, 2);
    object_hold(&stream->object);
    operation->record->stream = stream;
    operation->operation.brief = true;
    operation->operation.even_failed = true;
    return operation;
}

// Holds the event's lock while submitting, so that records of two threads keep their order.
CUresult event_record(struct event *event, struct stream *stream)
{
    SIM_RETURN_IF(event->object.context != stream->context, CUDA_ERROR_INVALID_HANDLE);
    bool captured;
    CUresult refused = capture_record(stream, &event->captured, &captured);
    if (refused || captured)
        return refused;
    struct record_operation *operation = record_operation_create(stream);
    SIM_RETURN_IF(!operation, CUDA_ERROR_OUT_OF_MEMORY);
    struct record *record = operation->record;
    pthread_mutex_lock(&event->lock);
    CUresult result = stream_submit(stream, &operation->operation, &record->sequence);
    struct record *old = record;
    if (!result) {
        old = event->record;
        event->record = record;
    }
    pthread_mutex_unlock(&event->lock);
    record_put(old);
    return result;
}

struct record *event_begin_record(struct event *event, struct stream *line, uint64_t sequence)
{
    struct record *record = calloc(1, sizeof(*record));
    if (!record)
        return NULL;
    atomic_init(&record->references, 2);
    object_hold(&line->object);
    record->stream = line;
    record->sequence = sequence;
    pthread_mutex_lock(&event->lock);
    struct record *old = event->record;
    event->record = record;
    pthread_mutex_unlock(&event->lock);
    record_put(old);
    return record;
}

void event_finish_record(struct record *record)
{
    record->time_ns = clock_ns();
    stream_advance(record->stream, record->sequence);
    record_put(record);
}

struct record *event_last_record(struct event *event)
{
    return last_record(event);
}

void event_await_record(struct record *record)
{
    if (record)
        stream_wait(record->stream, record->sequence);
    record_put(record);
}

void event_put_record(struct record *record)
{
    record_put(record);
}

struct context *event_context(const struct event *event)
{
    return event->object.context;
}

static void event_destroy(struct sim_object *object)
{
    struct event *event = (struct event *)object;
    pthread_mutex_lock(&graph_mutex);
    captured_free(&event->captured);
    pthread_mutex_unlock(&graph_mutex);
    record_put(event->record);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

SIM_API(cuEventCreate, CUevent *out, unsigned int flags)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
                                              CU_EVENT_INTERPROCESS),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(flags & CU_EVENT_INTERPROCESS, flags & CU_EVENT_DISABLE_TIMING
                                                     ? CUDA_ERROR_NOT_SUPPORTED
                                                     : CUDA_ERROR_INVALID_VALUE);
    struct event *event = calloc(1, sizeof(*event));
    SIM_RETURN_IF(!event, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&event->object, OBJECT_EVENT, context, event_destroy);
    event->flags = flags;
    pthread_mutex_init(&event->lock, NULL);
    CUresult result = handle_publish(&event->object);
    if (result)
        event_put(event);
    else
        *out = object_handle(&event->object);
    return result;
}

SIM_API(cuEventDestroy_v2, CUevent handle)
{
    SIM_TRY(sim_check_ready());
    struct event *event = handle_get(OBJECT_EVENT, handle);
    SIM_RETURN_IF(!event, CUDA_ERROR_INVALID_HANDLE);
    bool first = handle_revoke(&event->object);
    if (first)
        event_put(event);
    event_put(event);
    return first ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// Adds a graph node that records the event, or waits for it, at each launch.
static CUresult capture_external(struct stream *stream, CUgraphNodeType type, struct event *event)
{
    struct capture_item item = {.params = {.type = type}};
    if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        item.params.eventRecord.event = object_handle(&event->object);
    else
        item.params.eventWait.event = object_handle(&event->object);
    return capture_add(stream, &item);
}

static CUresult record_by_handle(CUevent event_handle, CUstream stream_handle, unsigned flags)
{
    SCOPED_OBJECT struct event *event = NULL;
    struct stream *stream;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(event_get(event_handle, &event));
    CUresult result = stream_get(stream_handle, &stream);
    if (!result) {
        result = flags & CU_EVENT_RECORD_EXTERNAL && capture_contains(stream)
                     ? capture_external(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event)
                     : event_record(event, stream);
        object_put(&stream->object);
    }
    return result;
}

SIM_CALL(cuEventRecord, (CUevent event, CUstream stream), record_by_handle(event, stream, 0))
SIM_CALL(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags),
         record_by_handle(event, stream, flags))

SIM_API(cuEventQuery, CUevent handle)
{
    SCOPED_OBJECT struct event *event = NULL;
    SIM_TRY(event_get(handle, &event));
    struct record *record = last_record(event);
    CUresult result = capture_check_event(&event->captured, true);
    if (!result)
        result = capture_check_unsafe();
    if (!result && !record_done(record))
        result = CUDA_ERROR_NOT_READY;
    record_put(record);
    return result;
}

SIM_API(cuEventSynchronize, CUevent handle)
{
    SCOPED_OBJECT struct event *event = NULL;
    SIM_TRY(event_get(handle, &event));
    struct record *record = last_record(event);
    CUresult result = capture_check_event(&event->captured, true);
    if (!result)
        result = capture_check_unsafe();
    if (record && !result)
        stream_wait(record->stream, record->sequence);
    record_put(record);
    if (!result) {
        context_flush_print(event->object.context);
        result = context_status(event->object.context);
    }
    return result;
}

// The caller holds both records.
static CUresult elapsed_between(struct record *first, struct record *last, float *milliseconds)
{
    SIM_RETURN_IF(!first || !last, CUDA_ERROR_INVALID_HANDLE);
    SIM_RETURN_IF(!record_done(first) || !record_done(last), CUDA_ERROR_NOT_READY);
    *milliseconds = (float)((double)(int64_t)(last->time_ns - first->time_ns) / 1e6);
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
    struct event *start, *end;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!milliseconds, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(event_get(start_handle, &start));
    CUresult result = event_get(end_handle, &end);
    if (!result) {
        struct record *first = last_record(start), *last = last_record(end);
        bool timed = !((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) &&
                     start->object.context == end->object.context;
        result = timed ? elapsed_between(first, last, milliseconds) : CUDA_ERROR_INVALID_HANDLE;
        CUresult refused = capture_check_event(&start->captured, false);
        if (!refused)
            refused = capture_check_event(&end->captured, false);
        if (refused)
            result = refused;
        record_put(first);
        record_put(last);
        event_put(end);
    }
    event_put(start);
    return result;
}

SIM_API(cuEventElapsedTime, float *milliseconds, CUevent start, CUevent end)
{
    return elapsed(milliseconds, start, end);
}

SIM_API(cuEventElapsedTime_v2, float *milliseconds, CUevent start, CUevent end)
{
    return elapsed(milliseconds, start, end);
}

static CUresult event_run_nothing(struct operation *operation, struct stream *stream)
{
    return CUDA_SUCCESS;
}

static CUresult submit_wait(struct stream *stream, struct record *record)
{
    struct operation *operation =
        operation_create(sizeof(*operation), event_run_nothing, operation_free);
    SIM_RETURN_IF(!operation, CUDA_ERROR_OUT_OF_MEMORY);
    operation->brief = true;
    CUresult result = operation_wait_for(operation, record->stream, record->sequence);
    if (result) {
        operation_discard(operation);
        return result;
    }
    return stream_submit(stream, operation, NULL);
}

static CUresult wait_for_event(struct stream *stream, struct event *event, unsigned flags)
{
    bool captured;
    if (flags & CU_EVENT_WAIT_EXTERNAL && capture_contains(stream))
        return capture_external(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    struct record *record = last_record(event);
    CUresult result = capture_wait(stream, &event->captured, record, &captured);
    if (!result && !captured && !record_done(record))
        result = submit_wait(stream, record);
    record_put(record);
    return result;
}

SIM_API(cuStreamWaitEvent, CUstream stream_handle, CUevent event_handle, unsigned flags)
{
    struct event *event;
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(stream_handle, &stream));
    CUresult result = flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL ? CUDA_ERROR_INVALID_VALUE
                                                                : event_get(event_handle, &event);
    if (!result) {
        result = wait_for_event(stream, event, flags);
        event_put(event);
    }
    return result;
}
