// SPDX-License-Identifier: BSD-3-Clause
// Green contexts.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/green_contexts.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"

// ---- resources ----

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    return resource ? resource_of_device(device, type, resource) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource, CUdevResourceType type)
{
    struct object *context;
    CUresult result = hCtx ? context_named_or_current(hCtx, &context) : CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && !resource)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? resource_of_context(context, type, resource) : result;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource, CUdevResourceType type)
{
    struct object *context;
    CUresult result = green_find(hCtx, CUDA_ERROR_CONTEXT_IS_DESTROYED, &context);
    if (result == CUDA_SUCCESS && !resource)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? resource_of_context(context, type, resource) : result;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                     const CUdevResource *input, CUdevResource *remaining,
                                     unsigned int useFlags, unsigned int minCount)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    return nbGroups && input
               ? resource_split(result, nbGroups, input, remaining, useFlags, minCount)
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                   unsigned int nbResources)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    return phDesc && resources && nbResources ? resource_describe(resources, nbResources, phDesc)
                                              : CUDA_ERROR_INVALID_VALUE;
}

// ---- contexts ----

CUresult cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                          unsigned int flags)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    return phCtx && flags == CU_GREEN_CTX_DEFAULT_STREAM ? green_create(desc, dev, flags, phCtx)
                                                         : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGreenCtxDestroy(CUgreenCtx hCtx)
{
    return green_destroy(hCtx);
}

CUresult cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    struct object *context;
    CUresult result = green_find(hCtx, CUDA_ERROR_CONTEXT_IS_DESTROYED, &context);
    if (result == CUDA_SUCCESS && !pContext)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *pContext = (CUcontext)(uintptr_t)context->handle;
    return result;
}

CUresult cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId)
{
    struct object *context;
    CUresult result = green_find(greenCtx, CUDA_ERROR_INVALID_CONTEXT, &context);
    if (result == CUDA_SUCCESS && !greenCtxId)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *greenCtxId = context->ctx.id;
    return result;
}

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

CUresult cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct object *context;
    CUresult result = green_find(hCtx, CUDA_ERROR_INVALID_CONTEXT, &context);
    if (result != CUDA_SUCCESS)
        return result;
    return object_find(HANDLE_EVENT, hEvent) ? remote_green_wait((CUcontext)(void *)hCtx, hEvent)
                                             : CUDA_ERROR_INVALID_HANDLE;
}
