// SPDX-License-Identifier: BSD-3-Clause
// Primary contexts, contexts, and each thread's stack of current ones.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/copy/awaited_ends.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"
#include "common/driver/export_tables.h"

CUresult export_table_primary_context(CUcontext *context, CUdevice device)
{
    return primary_context(device, context);
}

// ---- primary contexts ----

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    return pctx ? primary_retain(dev, pctx) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    return primary_drop(dev, false);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return primary_drop(dev, false);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    return primary_drop(dev, true);
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    return primary_drop(dev, true);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    return primary_set_flags(dev, flags);
}

// The first form refuses to change the flags of an active context.
CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    unsigned int old;
    int active = 0;
    if (primary_state(dev, &old, &active) == CUDA_SUCCESS && active)
        return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
    return primary_set_flags(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    return flags && active ? primary_state(dev, flags, active) : CUDA_ERROR_INVALID_VALUE;
}

// ---- contexts that the program creates ----

static CUresult cu_context_create(CUcontext *pctx, bool affinity, unsigned int flags, CUdevice dev)
{
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    // Pointers in the parameters would mean nothing on the box.
    return affinity ? CUDA_ERROR_NOT_SUPPORTED : context_create(dev, flags, pctx);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags,
                        CUdevice dev)
{
    return cu_context_create(pctx, params && (params->numExecAffinityParams || params->cigParams),
                             flags, dev);
}

CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                        unsigned int flags, CUdevice dev)
{
    return cu_context_create(pctx, numParams != 0, flags, dev);
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return cu_context_create(pctx, false, flags, dev);
}

CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return cu_context_create(pctx, false, flags, dev);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    return context_destroy(ctx);
}

CUresult cuCtxDestroy(CUcontext ctx)
{
    return context_destroy(ctx);
}

CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    struct object *context;
    if (!pctx || flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = thread_context_object(&context);
    if (result == CUDA_SUCCESS)
        *pctx = (CUcontext)(uintptr_t)context->handle;
    return result;
}

CUresult cuCtxDetach(CUcontext ctx)
{
    return context_destroy(ctx);
}

// ---- the current context ----

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    return thread_push_context(ctx);
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
    return thread_push_context(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
    return thread_pop_context(pctx);
}

CUresult cuCtxPopCurrent(CUcontext *pctx)
{
    return thread_pop_context(pctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
    return thread_set_context(ctx);
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *pctx = (CUcontext)(uintptr_t)thread_context();
    return CUDA_SUCCESS;
}

// ---- queries and settings ----

static CUresult cu_context_device_of(CUcontext ctx, CUdevice *device)
{
    struct object *object;
    CUresult result = context_named_or_current(ctx, &object);
    if (result == CUDA_SUCCESS && !device)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *device = object->ctx.device;
    return result;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    return cu_context_device_of(ctx, device);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    return cu_context_device_of(NULL, device);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result == CUDA_SUCCESS && !flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = object->ctx.flags;
    return result;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result == CUDA_SUCCESS)
        result = remote_cuCtxSetFlags(flags);
    if (result == CUDA_SUCCESS)
        object->ctx.flags = flags;
    return result;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct object *object;
    CUresult result = context_named_or_current(ctx, &object);
    if (result == CUDA_SUCCESS && !ctxId)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *ctxId = object->ctx.id;
    return result;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct object *object;
    CUresult result = context_named_or_current(ctx, &object);
    if (result == CUDA_SUCCESS && !version)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *version = object->ctx.api_version;
    return result;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result != CUDA_SUCCESS)
        return result;
    const struct wire_device *device = session_device(object->ctx.device);
    if (leastPriority)
        *leastPriority = device->stream_priority_least;
    if (greatestPriority)
        *greatestPriority = device->stream_priority_greatest;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    return sync_context();
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    return context_within(ctx, sync_context);
}

// Bank sizes of shared memory have not been configurable since compute capability 5; the calls
// are kept by the driver for old programs.
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result == CUDA_SUCCESS && !pConfig)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return result;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result == CUDA_SUCCESS && (unsigned int)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    return result;
}
