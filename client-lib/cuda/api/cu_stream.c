// SPDX-License-Identifier: BSD-3-Clause
// Stream management: answers from the data kept here about each stream, and requests for the rest.
#include <stdatomic.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/copy/awaited_ends.h"
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/work/crossing.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/work/stream_function.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"

static _Atomic uint64_t next_id = 16; // ids of the default streams lie below

// Called before a stream is created: notes if the default stream waits for it.
static void note_blocking(unsigned int flags)
{
    struct object *context;
    if (!(flags & CU_STREAM_NON_BLOCKING) && thread_context_object(&context) == CUDA_SUCCESS)
        atomic_store_explicit(&context->session->blocking_streams, true, memory_order_relaxed);
}

static void cu_stream_describe(CUstream stream, unsigned int flags, int priority)
{
    struct object *object = object_find(HANDLE_STREAM, stream);
    object->stream.flags = flags;
    object->stream.priority = priority;
    object->stream.id = atomic_fetch_add(&next_id, 1);
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    if (Flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    note_blocking(Flags);
    CUresult result = remote_cuStreamCreate(phStream, Flags);
    if (result == CUDA_SUCCESS)
        cu_stream_describe(*phStream, Flags, 0);
    return result;
}

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    struct object *context;
    if (flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const struct wire_device *device = session_device(context->ctx.device);
    if (priority > device->stream_priority_least)
        priority = device->stream_priority_least;
    if (priority < device->stream_priority_greatest)
        priority = device->stream_priority_greatest;
    note_blocking(flags);
    result = remote_cuStreamCreateWithPriority(phStream, flags, priority);
    if (result == CUDA_SUCCESS)
        cu_stream_describe(*phStream, flags, priority);
    return result;
}

static CUresult cu_stream_destroy(CUstream hStream)
{
    if (hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    return remote_cuStreamDestroy_v2(hStream);
}

CUresult cuStreamDestroy_v2(CUstream hStream)
{
    return cu_stream_destroy(hStream);
}

CUresult cuStreamDestroy(CUstream hStream)
{
    return cu_stream_destroy(hStream);
}

// Returns an error if querying the stream fails or a capture forbids it.
static CUresult cu_stream_judge(CUstream stream)
{
    return captures_any() ? capture_judge_question(remote_cuStreamQuery(stream)) : CUDA_SUCCESS;
}

static CUresult cu_stream_query(CUstream stream)
{
    CUresult result = cu_stream_judge(stream);
    return result == CUDA_SUCCESS ? remote_cuStreamQuery(stream) : result;
}

static CUresult cu_stream_synchronize(CUstream stream)
{
    CUresult result = cu_stream_judge(stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = sync_stream(stream);
    return result;
}

CUresult cuStreamQuery(CUstream hStream)
{
    return cu_stream_query(hStream);
}

CUresult cuStreamQuery_ptsz(CUstream hStream)
{
    return cu_stream_query(stream_per_thread(hStream));
}

CUresult cuStreamSynchronize(CUstream hStream)
{
    return cu_stream_synchronize(hStream);
}

CUresult cuStreamSynchronize_ptsz(CUstream hStream)
{
    return cu_stream_synchronize(stream_per_thread(hStream));
}

// A stream and its context. Default streams belong to the current context and have no object.
struct found_stream {
    const struct object *stream;
    const struct object *context;
    uint64_t default_id; // 0: not a default stream
};

static CUresult find_stream(CUstream stream, bool per_thread, struct found_stream *out)
{
    struct object *context;
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
        CUresult result = thread_context_object(&context);
        bool own = stream == CU_STREAM_PER_THREAD || (!stream && per_thread);
        *out = (struct found_stream){NULL, context, own ? 2 : 1};
        return result;
    }
    const struct object *object = object_find(HANDLE_STREAM, stream);
    if (!object)
        return object_missing(HANDLE_STREAM, stream);
    context = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)object->context);
    if (!context)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = (struct found_stream){object, context, 0};
    return CUDA_SUCCESS;
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned int flags, bool per_thread)
{
    const struct object *recorded = object_find(HANDLE_EVENT, event);
    struct found_stream found;
    if (per_thread)
        stream = stream_per_thread(stream);
    if (!recorded || find_stream(stream, per_thread, &found) != CUDA_SUCCESS ||
        found.context->session == recorded->session)
        return remote_cuStreamWaitEvent(stream, event, flags);
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureStatus status;
    CUresult result = capture_status(found.context->session, stream, &status);
    if (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE) {
        remote_cuStreamQuery(
            stream); // no capture permits a wait for outside work, so this invalidates it
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    return result == CUDA_SUCCESS ? crossing_wait(stream, found.context, recorded) : result;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return wait_event(hStream, hEvent, Flags, false);
}

CUresult cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return wait_event(hStream, hEvent, Flags, true);
}

static CUresult add_callback(CUstream stream, CUstreamCallback callback, void *data,
                             unsigned int flags, bool per_thread)
{
    return !callback || flags ? CUDA_ERROR_INVALID_VALUE
                              : stream_function(stream, per_thread, NULL, callback, data);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                             unsigned int flags)
{
    return add_callback(hStream, callback, userData, flags, false);
}

CUresult cuStreamAddCallback_ptsz(CUstream hStream, CUstreamCallback callback, void *userData,
                                  unsigned int flags)
{
    return add_callback(hStream, callback, userData, flags, true);
}

// Defines a query of a stream and its per-thread variant.
#define STREAM_QUESTION(name, type, answer) \
    static CUresult name##_answer(CUstream hStream, bool per_thread, type *value) \
    { \
        struct found_stream found; \
        CUresult result = find_stream(hStream, per_thread, &found); \
        if (result == CUDA_SUCCESS && !value) \
            result = CUDA_ERROR_INVALID_VALUE; \
        if (result == CUDA_SUCCESS) \
            *value = (answer); \
        return result; \
    } \
    CUresult name(CUstream hStream, type *value) \
    { \
        return name##_answer(hStream, false, value); \
    } \
    CUresult name##_ptsz(CUstream hStream, type *value) \
    { \
        return name##_answer(hStream, true, value); \
    }

STREAM_QUESTION(cuStreamGetPriority, int, found.stream ? found.stream->stream.priority : 0)
STREAM_QUESTION(cuStreamGetFlags, unsigned int, found.stream ? found.stream->stream.flags : 0)
STREAM_QUESTION(cuStreamGetId, unsigned long long,
                found.stream ? found.stream->stream.id : found.default_id)
STREAM_QUESTION(cuStreamGetDevice, CUdevice, found.context->ctx.device)
STREAM_QUESTION(cuStreamGetCtx, CUcontext, (CUcontext)(uintptr_t)found.context->handle)

static CUgreenCtx cu_stream_green_of(const struct object *context)
{
    return context->ctx.green ? (CUgreenCtx)(uintptr_t)context->handle : NULL;
}

CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    struct found_stream found;
    CUresult result = find_stream(hStream, false, &found);
    if (result == CUDA_SUCCESS && !phCtx)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *phCtx = cu_stream_green_of(found.context);
    return result;
}

static CUresult get_ctx_v2(CUstream hStream, bool per_thread, CUcontext *pCtx,
                           CUgreenCtx *pGreenCtx)
{
    struct found_stream found;
    CUresult result = find_stream(hStream, per_thread, &found);
    if (result == CUDA_SUCCESS && !pCtx)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *pCtx = (CUcontext)(uintptr_t)found.context->ctx.root;
    if (pGreenCtx)
        *pGreenCtx = cu_stream_green_of(found.context);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    return get_ctx_v2(hStream, false, pCtx, pGreenCtx);
}

CUresult cuStreamGetCtx_v2_ptsz(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    return get_ctx_v2(hStream, true, pCtx, pGreenCtx);
}
