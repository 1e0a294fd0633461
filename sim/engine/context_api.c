// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls on contexts: creation, choice of the current context, limits and other
// settings.
#include "common/base/scope.h"
#include "sim/engine/capture.h"
#include "sim/engine/context.h"
#include "sim/mps/mps_client.h"
#include "sim/engine/stream.h"

enum { L2_FETCH_MAX = 128 }; // bytes

#define CONTEXT_FLAGS \
    (CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX | CU_CTX_SYNC_MEMOPS)

bool context_flags_valid(unsigned flags)
{
    unsigned scheduling = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CONTEXT_FLAGS) && (scheduling & (scheduling - 1)) == 0;
}

static CUresult context_api_create(CUcontext *out, unsigned flags, CUdevice index)
{
    struct device *device;
    struct context *context;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || !context_flags_valid(flags), CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(device_get(index, &device));
    SIM_TRY(context_start(device, flags, false, &context));
    CUresult result = context_stack_push(context);
    if (result) {
        handle_revoke(&context->object);
        context_teardown(context);
        object_put(&context->object);
        return result;
    }
    *out = object_handle(&context->object);
    return CUDA_SUCCESS;
}

SIM_API(cuCtxCreate_v2, CUcontext *out, unsigned int flags, CUdevice device)
{
    return context_api_create(out, flags, device);
}

SIM_API(cuCtxCreate_v3, CUcontext *out, CUexecAffinityParam *affinity, int affinity_count,
        unsigned int flags, CUdevice device)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(affinity_count < 0, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(affinity_count > 0, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    return context_api_create(out, flags, device);
}

SIM_API(cuCtxCreate_v4, CUcontext *out, CUctxCreateParams *parameters, unsigned int flags,
        CUdevice device)
{
    SIM_TRY(sim_check_ready());
    if (parameters) {
        SIM_RETURN_IF(parameters->cigParams, CUDA_ERROR_NOT_SUPPORTED);
        SIM_RETURN_IF(parameters->numExecAffinityParams < 0, CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF(parameters->numExecAffinityParams > 0, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    }
    return context_api_create(out, flags, device);
}

// Destroys the context, and pops it if it is on top of the calling thread's stack, as documented.
static CUresult context_api_destroy(CUcontext handle)
{
    SIM_TRY(sim_check_ready());
    struct context *context = handle_get(OBJECT_CONTEXT, handle);
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!context, handle_looks_like(OBJECT_GREEN, handle)
                                ? CUDA_ERROR_INVALID_CONTEXT
                                : CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    if (!context->primary && handle_revoke(&context->object)) {
        context_teardown(context);
        if (context_stack_top() == context)
            context_stack_pop(NULL);
        object_put(&context->object);
        result = CUDA_SUCCESS;
    }
    object_put(&context->object);
    return result;
}

SIM_API(cuCtxDestroy_v2, CUcontext context)
{
    return context_api_destroy(context);
}

SIM_API(cuCtxDetach, CUcontext context)
{
    return context_api_destroy(context);
}

SIM_API(cuCtxAttach, CUcontext *out, unsigned int flags)
{
    struct context *context;
    SIM_TRY(context_current(&context));
    SIM_RETURN_IF(!out || flags, CUDA_ERROR_INVALID_VALUE);
    return CUDA_ERROR_NOT_SUPPORTED;
}

SIM_API(cuCtxPushCurrent_v2, CUcontext handle)
{
    SCOPED_OBJECT struct context *context = NULL;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(context_get(handle, &context));
    return context_stack_push(context);
}

SIM_API(cuCtxPopCurrent_v2, CUcontext *out)
{
    SIM_TRY(sim_check_ready());
    return context_stack_pop(out);
}

SIM_API(cuCtxSetCurrent, CUcontext handle)
{
    SCOPED_OBJECT struct context *context = NULL;
    SIM_TRY(sim_check_ready());
    if (!handle)
        return context_stack_set(NULL);
    SIM_TRY(context_get(handle, &context));
    return context_stack_set(context);
}

SIM_API(cuCtxGetCurrent, CUcontext *out)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    struct context *context = context_stack_top();
    *out = context ? object_handle(&context->object) : NULL;
    return CUDA_SUCCESS;
}

static CUresult context_api_get_device(CUdevice *out, CUcontext handle)
{
    SCOPED_OBJECT struct context *context = NULL;
    SIM_TRY(context_get(handle, &context));
    if (out)
        *out = context->device->index;
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuCtxGetDevice, CUdevice *out)
{
    return context_api_get_device(out, NULL);
}

SIM_API(cuCtxGetDevice_v2, CUdevice *out, CUcontext context)
{
    return context_api_get_device(out, context);
}

SIM_API(cuCtxGetFlags, unsigned int *flags)
{
    struct context *context;
    SIM_TRY(context_current(&context));
    SIM_RETURN_IF(!flags, CUDA_ERROR_INVALID_VALUE);
    *flags = context->flags | CU_CTX_MAP_HOST;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxSetFlags, unsigned int flags)
{
    struct context *context;
    SIM_TRY(context_current(&context));
    SIM_RETURN_IF(!context_flags_valid(flags), CUDA_ERROR_INVALID_VALUE);
    context->flags = flags;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetId, CUcontext handle, unsigned long long *id)
{
    SCOPED_OBJECT struct context *context = NULL;
    SIM_TRY(context_get(handle, &context));
    if (id)
        *id = atomic_load(&context->id);
    return id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult context_api_synchronize(CUcontext handle)
{
    SCOPED_OBJECT struct context *context = NULL;
    SIM_TRY(context_get(handle, &context));
    SIM_TRY(capture_refuse_context(context));
    return context_finish_work(context);
}

SIM_API(cuCtxSynchronize, void)
{
    return context_api_synchronize(NULL);
}

SIM_API(cuCtxSynchronize_v2, CUcontext context)
{
    return context_api_synchronize(context);
}

SIM_API(cuCtxSetLimit, CUlimit limit, size_t value)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF((unsigned)limit >= CU_LIMIT_MAX, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED,
                  CUDA_ERROR_NOT_PERMITTED);
    if (limit >= CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    SIM_RETURN_IF(limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > L2_FETCH_MAX,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(limit == CU_LIMIT_STACK_SIZE && value > 512 * 1024, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    SCOPED_LOCK(&context->lock);
    context->limits[limit] = value;
    if (limit == CU_LIMIT_STACK_SIZE)
        context->limits[limit] = (value + 15) & ~(size_t)15;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetLimit, size_t *value, CUlimit limit)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!value || (unsigned)limit >= CU_LIMIT_MAX, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(limit > CU_LIMIT_CIG_ENABLED || limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
                  CUDA_ERROR_UNSUPPORTED_LIMIT);
    *value = context_limit(context, limit);
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetCacheConfig, CUfunc_cache *config)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!config, CUDA_ERROR_INVALID_VALUE);
    *config = context->cache_config;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxSetCacheConfig, CUfunc_cache config)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL, CUDA_ERROR_INVALID_VALUE);
    context->cache_config = config;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetSharedMemConfig, CUsharedconfig *config)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!config, CUDA_ERROR_INVALID_VALUE);
    *config = context->shared_config;
    return CUDA_SUCCESS;
}

// The bank size is fixed on this architecture; the call is accepted and changes nothing.
SIM_API(cuCtxSetSharedMemConfig, CUsharedconfig config)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE,
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetApiVersion, CUcontext handle, unsigned int *version)
{
    SCOPED_OBJECT struct context *context = NULL;
    SIM_TRY(context_get(handle, &context));
    if (version)
        *version = context->api_version;
    return version ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

SIM_API(cuCtxResetPersistingL2Cache, void)
{
    struct context *context;
    return context_require(&context);
}

SIM_API(cuCtxGetExecAffinity, CUexecAffinityParam *affinity, CUexecAffinityType type)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!affinity, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(type != CU_EXEC_AFFINITY_TYPE_SM_COUNT, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    affinity->type = type;
    affinity->param.smCount.val = mps_share_of(DEVICE_MULTIPROCESSORS);
    return CUDA_SUCCESS;
}

static CUresult change_peer(CUcontext handle, bool enable)
{
    struct context *context, *peer;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_CONTEXT);
    SIM_TRY(context_get(handle, &peer));
    CUresult result = CUDA_SUCCESS;
    unsigned bit = 1u << peer->device->index;
    unsigned peers = atomic_load(&context->peers);
    pthread_mutex_lock(&context->lock);
    if (peer->device == context->device)
        result = enable ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    else if (enable && peers & bit)
        result = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    else if (!enable && !(peers & bit))
        result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    else
        atomic_store(&context->peers, peers ^ bit);
    pthread_mutex_unlock(&context->lock);
    object_put(&peer->object);
    return result;
}

SIM_API(cuCtxEnablePeerAccess, CUcontext peer, unsigned int flags)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(flags, CUDA_ERROR_INVALID_VALUE);
    return change_peer(peer, true);
}

SIM_API(cuCtxDisablePeerAccess, CUcontext peer)
{
    return change_peer(peer, false);
}
