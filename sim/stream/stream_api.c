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
static CUresult stream_api_destroy(CUstream handle)
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

SIM_API(cuStreamDestroy, CUstream stream)
{
    return stream_api_destroy(stream);
}

SIM_API(cuStreamDestroy_v2, CUstream stream)
{
    return stream_api_destroy(stream);
}

static CUresult stream_api_query(CUstream handle)
{
    struct stream *stream;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = capture_refuse(stream);
    if (!result)
        result = capture_check_unsafe();
    if (!result && !default_stream_idle(stream))
        result = CUDA_ERROR_NOT_READY;
    // An earlier operation may have lost the context.
    CUresult status = context_status(stream->context);
    object_put(&stream->object);
    return status ? status : result;
}

SIM_STREAM_API(cuStreamQuery, (CUstream stream), stream_api_query(stream))

// The legacy default stream is done when the streams that it synchronizes with are done.
static CUresult stream_api_synchronize(CUstream handle)
{
    struct stream *stream;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = capture_refuse(stream);
    if (!result)
        result = capture_check_unsafe();
    if (!result) {
        default_stream_drain(stream);
        context_flush_print(stream->context);
        result = context_status(stream->context);
    }
    object_put(&stream->object);
    return result;
}

SIM_STREAM_API(cuStreamSynchronize, (CUstream stream), stream_api_synchronize(stream))

static CUresult get_priority(CUstream handle, int *priority)
{
    struct stream *stream;
    SIM_TRY(stream_get(handle, &stream));
    if (priority)
        *priority = stream->priority;
    object_put(&stream->object);
    return priority ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_STREAM_API(cuStreamGetPriority, (CUstream stream, int *priority),
               get_priority(stream, priority))

static CUresult get_flags(CUstream handle, unsigned *flags)
{
    struct stream *stream;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = capture_refuse(stream);
    if (flags && !result)
        *flags = stream->flags;
    object_put(&stream->object);
    return flags ? result : CUDA_ERROR_INVALID_VALUE;
}

SIM_STREAM_API(cuStreamGetFlags, (CUstream stream, unsigned int *flags), get_flags(stream, flags))

static CUresult get_id(CUstream handle, unsigned long long *id)
{
    struct stream *stream;
    SIM_TRY(stream_get(handle, &stream));
    if (id)
        *id = stream->id;
    object_put(&stream->object);
    return id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_STREAM_API(cuStreamGetId, (CUstream stream, unsigned long long *id), get_id(stream, id))

static CUresult stream_api_get_device(CUstream handle, CUdevice *device)
{
    struct stream *stream;
    SIM_TRY(stream_get(handle, &stream));
    if (device)
        *device = stream->context->device->index;
    object_put(&stream->object);
    return device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_STREAM_API(cuStreamGetDevice, (CUstream stream, CUdevice *device),
               stream_api_get_device(stream, device))

static CUresult get_context(CUstream handle, CUcontext *context)
{
    struct stream *stream;
    SIM_TRY(stream_get(handle, &stream));
    if (context)
        *context = object_handle(&stream->context->object);
    object_put(&stream->object);
    return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_STREAM_API(cuStreamGetCtx, (CUstream stream, CUcontext *context), get_context(stream, context))

static CUresult get_context_v2(CUstream handle, CUcontext *context, CUgreenCtx *green)
{
    SIM_TRY(get_context(handle, context));
    if (green)
        *green = NULL;
    return CUDA_SUCCESS;
}

SIM_STREAM_API(cuStreamGetCtx_v2, (CUstream stream, CUcontext *context, CUgreenCtx *green),
               get_context_v2(stream, context, green))

static CUresult get_green(CUstream handle, CUgreenCtx *green)
{
    CUcontext context;
    SIM_TRY(get_context(handle, &context));
    SIM_RETURN_IF(!green, CUDA_ERROR_INVALID_VALUE);
    *green = NULL;
    return CUDA_SUCCESS;
}

SIM_API(cuStreamGetGreenCtx, CUstream stream, CUgreenCtx *green)
{
    return get_green(stream, green);
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
