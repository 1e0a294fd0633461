// SPDX-License-Identifier: BSD-3-Clause
// Stream management: answers from the data kept here about each stream, and requests for the rest.
#include <stdatomic.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/copy/awaited_ends.h"
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/work/crossing.h"
#include "client-lib/cuda/objects/object.h"
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

// Returns an error if querying the stream fails or a capture forbids it.
static CUresult cu_stream_judge(CUstream stream)
{
    return captures_any() ? capture_judge_question(remote_cuStreamQuery(stream)) : CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
    CUresult result = cu_stream_judge(stream);
    return result == CUDA_SUCCESS ? remote_cuStreamQuery(stream) : result;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    CUresult result = cu_stream_judge(stream);
    return result == CUDA_SUCCESS ? sync_stream(stream) : result;
}

CUresult stream_find(CUstream stream, struct found_stream *out)
{
    struct object *context;
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
        CUresult result = thread_context_object(&context);
        *out = (struct found_stream){NULL, context, stream == CU_STREAM_PER_THREAD ? 2 : 1};
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

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    const struct object *recorded = object_find(HANDLE_EVENT, event);
    struct found_stream found;
    if (!recorded || stream_find(stream, &found) != CUDA_SUCCESS ||
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

CUgreenCtx stream_green_context(const struct found_stream *stream)
{
    return stream->context->ctx.green ? (CUgreenCtx)(uintptr_t)stream->context->handle : NULL;
}

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    struct found_stream found;
    CUresult result = stream_find(hStream, &found);
    if (result == CUDA_SUCCESS && !pCtx)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *pCtx = (CUcontext)(uintptr_t)found.context->ctx.root;
    if (pGreenCtx)
        *pGreenCtx = stream_green_context(&found);
    return CUDA_SUCCESS;
}
