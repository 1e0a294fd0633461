// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls on streams, except memory operations, callbacks and events.
#include <string.h>

#include "common/base/scope.h"
#include "sim/engine/capture.h"
#include "sim/engine/default_stream.h"
#include "sim/engine/stream.h"

#define GREATEST_PRIORITY (-5)

int stream_priority(int priority)
{
    return priority > 0 ? 0 : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
}

// As with GPU drivers, a later stream has the memory of one that has ended, and nothing is given
// back before the context ends.
static CUresult stream_api_take_memory(struct context *context, struct stream *stream)
{
    size_t streams = 0;
    if (!device_config()->stream_cost)
        return CUDA_SUCCESS;
    SCOPED_LOCK(&context->lock);
    stream->created = true;
    for (const struct stream *s = context->streams; s; s = s->next)
        streams += s->created;
    CUresult result = streams > context->stream_memory
                          ? device_charge(context->device, device_config()->stream_cost)
                          : CUDA_SUCCESS;
    context->stream_memory += !result && streams > context->stream_memory;
    return result;
}

static CUresult stream_api_create(CUstream *out, unsigned flags, int priority)
{
    struct context *context;
    struct stream *stream;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    priority = stream_priority(priority);
    SIM_TRY(stream_create(context, flags, priority, &stream));
    CUresult result = stream_api_take_memory(context, stream);
    if (!result)
        result = handle_publish(&stream->object);
    if (result) {
        stream_close(stream);
        object_put(&stream->object);
        return result;
    }
    *out = object_handle(&stream->object);
    return CUDA_SUCCESS;
}

SIM_API(cuStreamCreate, CUstream *out, unsigned int flags)
{
    return stream_api_create(out, flags, 0);
}

SIM_API(cuStreamCreateWithPriority, CUstream *out, unsigned int flags, int priority)
{
    return stream_api_create(out, flags, priority);
}

// Returns at once; work that is queued still runs.
SIM_API(cuStreamDestroy_v2, CUstream handle)
{
    SIM_TRY(sim_check_ready());
    struct stream *stream = handle_get(OBJECT_STREAM, handle);
    SIM_RETURN_IF(!stream, CUDA_ERROR_INVALID_HANDLE);
    bool first = handle_revoke(&stream->object);
    if (first) {
        capture_give_up(stream);
        stream_close(stream);
        object_put(&stream->object);
    }
    object_put(&stream->object);
    return first ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SIM_API(cuStreamQuery, CUstream handle)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = capture_refuse(stream);
    if (!result)
        result = capture_check_unsafe();
    if (!result && !default_stream_idle(stream))
        result = CUDA_ERROR_NOT_READY;
    // An earlier operation may have lost the context.
    CUresult status = context_status(stream->context);
    return status ? status : result;
}

// The legacy default stream is done when the streams that it synchronizes with are done.
SIM_API(cuStreamSynchronize, CUstream handle)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = capture_refuse(stream);
    if (!result)
        result = capture_check_unsafe();
    if (!result) {
        default_stream_drain(stream);
        context_flush_print(stream->context);
        result = context_status(stream->context);
    }
    return result;
}

SIM_API(cuStreamGetPriority, CUstream handle, int *priority)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    if (priority)
        *priority = stream->priority;
    return priority ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuStreamGetFlags, CUstream handle, unsigned *flags)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = capture_refuse(stream);
    if (flags && !result)
        *flags = stream->flags;
    return flags ? result : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuStreamGetId, CUstream handle, unsigned long long *id)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    if (id)
        *id = stream->id;
    return id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuStreamGetDevice, CUstream handle, CUdevice *device)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    if (device)
        *device = stream->context->device->index;
    return device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_context(CUstream handle, CUcontext *context)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    if (context)
        *context = object_handle(&stream->context->object);
    return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_CALL(cuStreamGetCtx, (CUstream stream, CUcontext *context), get_context(stream, context))

SIM_API(cuStreamGetCtx_v2, CUstream handle, CUcontext *context, CUgreenCtx *green)
{
    SIM_TRY(get_context(handle, context));
    if (green)
        *green = NULL;
    return CUDA_SUCCESS;
}

SIM_API(cuStreamGetGreenCtx, CUstream handle, CUgreenCtx *green)
{
    CUcontext context;
    SIM_TRY(get_context(handle, &context));
    SIM_RETURN_IF(!green, CUDA_ERROR_INVALID_VALUE);
    *green = NULL;
    return CUDA_SUCCESS;
}

SIM_API(cuProfilerStart, void)
{
    struct context *context;
    return context_require(&context);
}

SIM_API(cuProfilerStop, void)
{
    struct context *context;
    return context_require(&context);
}
