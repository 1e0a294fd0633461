// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/default_stream.h"

#include <stdlib.h>

#include "common/base/scope.h"
#include "sim/engine/capture.h"

struct per_thread_stream {
    struct per_thread_stream *next;
    uint64_t context_id;
    struct stream *stream;
};

static _Thread_local struct per_thread_stream *thread_streams;
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

// EXCEPT: a stream that is not waited for, or NULL.
static CUresult wait_for_blocking_streams(struct context *context, const struct stream *except,
                                          struct operation *operation)
{
    CUresult result = CUDA_SUCCESS;
    SCOPED_LOCK(&context->lock);
    for (struct stream *s = context->streams; s && !result; s = s->next)
        if (s != except && !(s->flags & CU_STREAM_NON_BLOCKING))
            result = operation_wait_for(operation, s, stream_submitted(s));
    return result;
}

CUresult default_stream_order(struct stream *stream, struct operation *operation)
{
    struct context *context = stream->context;
    if (stream->legacy)
        return wait_for_blocking_streams(context, stream, operation);
    if (stream->flags & CU_STREAM_NON_BLOCKING)
        return CUDA_SUCCESS;
    return operation_wait_for(operation, context->legacy, stream_submitted(context->legacy));
}

static CUresult default_stream_run_nothing(struct operation *operation, struct stream *stream)
{
    return CUDA_SUCCESS;
}

CUresult default_stream_join(const struct device *device, struct operation *operation)
{
    struct context *context;
    uint32_t position = 0;
    CUresult result = CUDA_SUCCESS;
    while (!result && (context = handle_next(OBJECT_CONTEXT, &position))) {
        if (context->device == device && !atomic_load(&context->destroyed))
            result = wait_for_blocking_streams(context, NULL, operation);
        object_put(&context->object);
    }
    return result;
}

bool default_stream_idle(struct stream *stream)
{
    bool idle = stream_reached(stream, stream_submitted(stream));
    if (!stream->legacy)
        return idle;
    SCOPED_LOCK(&stream->context->lock);
    for (struct stream *s = stream->context->streams; s && idle; s = s->next)
        idle = s->flags & CU_STREAM_NON_BLOCKING || stream_reached(s, stream_submitted(s));
    return idle;
}

bool default_stream_clear(struct stream *stream)
{
    struct stream *legacy = stream->context->legacy;
    if (!default_stream_idle(stream))
        return false;
    return stream->legacy || stream->flags & CU_STREAM_NON_BLOCKING ||
           stream_reached(legacy, stream_submitted(legacy));
}

void default_stream_drain(struct stream *stream)
{
    struct operation *marker = NULL;
    uint64_t sequence;
    if (stream->legacy)
        marker = operation_create(sizeof(*marker), default_stream_run_nothing, operation_free);
    if (!marker) {
        stream_drain(stream);
        return;
    }
    marker->brief = true;
    if (!stream_submit(stream, marker, &sequence))
        stream_wait(stream, sequence);
}

static void drop_entry(struct per_thread_stream *entry)
{
    capture_give_up(entry->stream);
    stream_close(entry->stream);
    object_put(&entry->stream->object);
    free(entry);
}

static void release_thread_streams(void *unused)
{
    while (thread_streams) {
        struct per_thread_stream *entry = thread_streams;
        thread_streams = entry->next;
        drop_entry(entry);
    }
}

static void default_stream_make_key(void)
{
    pthread_key_create(&thread_key, release_thread_streams);
}

// Drops this thread's streams of destroyed contexts.
static void drop_dead_entries(void)
{
    struct per_thread_stream **link = &thread_streams;
    while (*link) {
        struct per_thread_stream *entry = *link;
        if (entry->context_id == atomic_load(&entry->stream->context->id) &&
            !atomic_load(&entry->stream->context->destroyed)) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        drop_entry(entry);
    }
}

CUresult default_stream_of_thread(struct context *context, struct stream **out)
{
    uint64_t id = atomic_load(&context->id);
    for (struct per_thread_stream *e = thread_streams; e; e = e->next) {
        if (e->context_id == id) {
            *out = e->stream;
            return CUDA_SUCCESS;
        }
    }
    drop_dead_entries();
    struct per_thread_stream *entry = calloc(1, sizeof(*entry));
    SIM_RETURN_IF(!entry, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = stream_create(context, CU_STREAM_DEFAULT, 0, &entry->stream);
    if (result) {
        free(entry);
        return result;
    }
    pthread_once(&thread_once, default_stream_make_key);
    pthread_setspecific(thread_key, &thread_streams);
    entry->context_id = id;
    entry->next = thread_streams;
    thread_streams = entry;
    *out = entry->stream;
    return CUDA_SUCCESS;
}

static CUresult default_stream_get_default(CUstream handle, struct stream **out)
{
    struct context *context;
    SIM_TRY(context_current(&context));
    if (handle == CU_STREAM_PER_THREAD)
        SIM_TRY(default_stream_of_thread(context, out));
    else
        *out = context->legacy;
    object_hold(&(*out)->object);
    return CUDA_SUCCESS;
}

CUresult stream_get_any(CUstream handle, struct stream **out)
{
    SIM_TRY(sim_check_ready());
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return default_stream_get_default(handle, out);
    struct stream *stream = handle_get(OBJECT_STREAM, handle);
    // The driver assumes that a missing stream ended with its context.
    if (!stream)
        return handle_looks_like(OBJECT_STREAM, handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                        : CUDA_ERROR_INVALID_HANDLE;
    *out = stream;
    return CUDA_SUCCESS;
}

CUresult stream_get(CUstream handle, struct stream **out)
{
    struct stream *stream;
    SIM_TRY(stream_get_any(handle, &stream));
    CUresult result = context_status(stream->context);
    if (result) {
        object_put(&stream->object);
        return result;
    }
    *out = stream;
    return CUDA_SUCCESS;
}
