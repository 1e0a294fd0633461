// SPDX-License-Identifier: BSD-3-Clause
// Green contexts.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/green_contexts.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"

// ---- resources ----

// ---- contexts ----

// ---- streams and events ----

CUresult cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                int priority)
{
    struct object *context;
    CUresult result = green_find(greenCtx, CUDA_ERROR_INVALID_CONTEXT, &context);
    if (result == CUDA_SUCCESS && (!phStream || flags != CU_STREAM_NON_BLOCKING))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = thread_push_context((CUcontext)(void *)greenCtx);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuStreamCreateWithPriority(phStream, flags, priority);
    thread_pop_context(NULL);
    return result;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct object *context;
    CUresult result = green_find(hCtx, CUDA_ERROR_INVALID_CONTEXT, &context);
    const struct object *event = object_find(HANDLE_EVENT, hEvent);
    if (result != CUDA_SUCCESS)
        return result;
    return event && event->context == context->ctx.root
               ? remote_green_record((CUcontext)(void *)hCtx, hEvent)
               : CUDA_ERROR_INVALID_HANDLE;
}
