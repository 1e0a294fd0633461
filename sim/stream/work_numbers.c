// SPDX-License-Identifier: BSD-3-Clause
// Implements CUPTI's functions for the numbers of streams and contexts in records.
#include "sim/engine/context.h"
#include "sim/engine/stream.h"
#include "sim/engine/work_notes.h"

CUPTI_API(cuptiGetStreamIdEx, CUcontext context, CUstream handle, uint8_t per_thread,
          uint32_t *number)
{
    struct stream *stream;
    if (!number || stream_get_any(handle, &stream))
        return CUPTI_ERROR_INVALID_PARAMETER;
    *number = (uint32_t)stream->id;
    object_put(&stream->object);
    return CUPTI_SUCCESS;
}

CUPTI_API(cuptiGetContextId, CUcontext handle, uint32_t *number)
{
    struct context *context;
    if (!number || context_get(handle, &context))
        return CUPTI_ERROR_INVALID_PARAMETER;
    *number = (uint32_t)atomic_load(&context->id);
    object_put(&context->object);
    return CUPTI_SUCCESS;
}
