// SPDX-License-Identifier: BSD-3-Clause
// Implements primary contexts: one counted context per device. The handle stays the same for the
// process, however often the context is released or reset.
#include "common/base/scope.h"
#include "sim/engine/context.h"
#include "sim/engine/primary_context.h"

static bool active(const struct device *device)
{
    return device->primary && !atomic_load(&device->primary->destroyed);
}

// Starts the context if it is not active. Called under the device's lock.
static CUresult make_live(struct device *device)
{
    if (active(device))
        return CUDA_SUCCESS;
    if (device->primary)
        return context_revive(device->primary, device->primary_flags);
    return context_start(device, device->primary_flags, true, &device->primary);
}

CUresult primary_context_handle(struct device *device, CUcontext *out)
{
    SCOPED_LOCK(&device->lock);
    CUresult result = make_live(device);
    if (!result)
        *out = object_handle(&device->primary->object);
    return result;
}

CUresult primary_context_retain(CUdevice index, CUcontext *out)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&device->lock);
    CUresult result = make_live(device);
    if (!result) {
        device->primary_count++;
        *out = object_handle(&device->primary->object);
    }
    return result;
}

SIM_API(cuDevicePrimaryCtxRetain, CUcontext *out, CUdevice device)
{
    return primary_context_retain(device, out);
}

CUresult primary_context_release(CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SCOPED_LOCK(&device->lock);
    CUresult result = device->primary_count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (!result && --device->primary_count == 0)
        context_teardown(device->primary);
    return result;
}

SIM_API(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
    return primary_context_release(device);
}

SIM_API(cuDevicePrimaryCtxReset_v2, CUdevice index)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SCOPED_LOCK(&device->lock);
    if (device->primary)
        context_teardown(device->primary);
    return CUDA_SUCCESS;
}

static CUresult set_flags(CUdevice index, unsigned flags)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!context_flags_valid(flags), CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&device->lock);
    device->primary_flags = flags;
    if (active(device))
        device->primary->flags = flags;
    return CUDA_SUCCESS;
}

// The first form does not change a context that is active.
SIM_API(cuDevicePrimaryCtxSetFlags, CUdevice index, unsigned int flags)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    pthread_mutex_lock(&device->lock);
    bool is_there = active(device);
    pthread_mutex_unlock(&device->lock);
    return is_there ? CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE : set_flags(index, flags);
}

SIM_API(cuDevicePrimaryCtxSetFlags_v2, CUdevice device, unsigned int flags)
{
    return set_flags(device, flags);
}

SIM_API(cuDevicePrimaryCtxGetState, CUdevice index, unsigned int *flags, int *is_active)
{
    struct device *device;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!flags || !is_active, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&device->lock);
    *flags = device->primary_flags;
    *is_active = active(device);
    return CUDA_SUCCESS;
}
