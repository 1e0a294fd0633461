// SPDX-License-Identifier: BSD-3-Clause
// Green contexts. Their multiprocessors are counted but not separated. Their work runs in the
// device's primary context, which a green context has a reference to.
#include "sim/engine/green_context.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"
#include "sim/engine/context.h"
#include "sim/engine/device.h"
#include "sim/engine/primary_context.h"

enum {
    COSCHEDULED = 8,  // multiprocessors of the smallest group
    PAIR = 2,         // smallest step if groups need not run together
    WHOLE = 0x2e0a11, // marks the resource of a whole device, which may be split
    GROUP = 0x2e0a12,
};

struct green_context {
    struct sim_object object;
    struct context *context; // counted
    CUdevice device;
    unsigned count;
};

static void green_free(struct sim_object *object)
{
    struct green_context *green = (struct green_context *)object;
    object_put(&green->context->object);
    free(green);
}

struct context *green_context_get(CUcontext handle)
{
    struct green_context *green = handle_get(OBJECT_GREEN, handle);
    struct context *context = green ? green->context : NULL;
    if (!green)
        return NULL;
    object_hold(&context->object);
    object_put(&green->object);
    return context;
}

// ---- resources ----

static uint32_t *kind_of(CUdevResource *resource)
{
    return (uint32_t *)(void *)(resource->_internal_padding + 12);
}

static void green_context_fill(CUdevResource *resource, unsigned count, uint32_t kind)
{
    memset(resource, 0, sizeof(*resource));
    resource->type = CU_DEV_RESOURCE_TYPE_SM;
    resource->sm.smCount = count;
    resource->sm.minSmPartitionSize = resource->sm.smCoscheduledAlignment = COSCHEDULED;
    *kind_of(resource) = kind;
}

static CUresult green_context_check(const CUdevResource *resource)
{
    CUdevResource copy = *resource;
    SIM_RETURN_IF(copy.type != CU_DEV_RESOURCE_TYPE_SM ||
                      (*kind_of(&copy) != WHOLE && *kind_of(&copy) != GROUP),
                  CUDA_ERROR_INVALID_RESOURCE_TYPE);
    SIM_RETURN_IF(!copy.sm.smCount || copy.sm.smCount > DEVICE_MULTIPROCESSORS,
                  CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetDevResource, CUdevice index, CUdevResource *resource, CUdevResourceType type)
{
    struct device *device;
    SIM_TRY(sim_check_ready());
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!resource, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(type != CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    green_context_fill(resource, DEVICE_MULTIPROCESSORS, WHOLE);
    return CUDA_SUCCESS;
}

static CUresult resource_of(CUcontext handle, CUdevResource *resource, CUdevResourceType type)
{
    struct green_context *green = handle_get(OBJECT_GREEN, handle);
    unsigned count = green ? green->count : DEVICE_MULTIPROCESSORS;
    if (green)
        object_put(&green->object);
    SIM_RETURN_IF(!resource, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(type != CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    green_context_fill(resource, count, WHOLE);
    return CUDA_SUCCESS;
}

SIM_API(cuCtxGetDevResource, CUcontext handle, CUdevResource *resource, CUdevResourceType type)
{
    struct context *context;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_CONTEXT);
    SIM_RETURN_IF(context_get(handle, &context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    object_put(&context->object);
    return resource_of(handle, resource, type);
}

// Returns the multiprocessors of each group, or 0 for an invalid request.
static unsigned group_size(unsigned flags, unsigned minimum)
{
    unsigned step = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING ? PAIR : COSCHEDULED;
    unsigned wanted = minimum < step ? step : minimum;
    return wanted > DEVICE_MULTIPROCESSORS ? 0 : (wanted + step - 1) / step * step;
}

SIM_API(cuDevSmResourceSplitByCount, CUdevResource *result, unsigned int *groups,
        const CUdevResource *input, CUdevResource *remaining, unsigned int flags,
        unsigned int minimum)
{
    CUdevResource whole;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!groups || !input, CUDA_ERROR_INVALID_VALUE);
    whole = *input;
    SIM_TRY(green_context_check(&whole));
    SIM_RETURN_IF((flags & 0xffff) == 3 || flags == ~0u, CUDA_ERROR_INVALID_VALUE);
    unsigned size = group_size(flags, minimum);
    SIM_RETURN_IF(!size || size > whole.sm.smCount || *kind_of(&whole) != WHOLE,
                  CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    unsigned count = whole.sm.smCount / size;
    if (result && *groups < count)
        count = *groups;
    for (unsigned i = 0; result && i < count; i++)
        green_context_fill(&result[i], size, GROUP);
    if (remaining)
        green_context_fill(remaining, whole.sm.smCount - count * size, GROUP);
    if (remaining && !remaining->sm.smCount)
        remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
    *groups = count;
    return CUDA_SUCCESS;
}

// a resource description; never freed
struct CUdevResourceDesc_st {
    struct CUdevResourceDesc_st *next;
    unsigned count;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUdevResourceDesc_st *descriptions;

SIM_API(cuDevResourceGenerateDesc, CUdevResourceDesc *out, CUdevResource *resources,
        unsigned int count)
{
    unsigned sum = 0;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || !resources || !count, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; i++) {
        SIM_TRY(green_context_check(&resources[i]));
        sum += resources[i].sm.smCount;
    }
    struct CUdevResourceDesc_st *made = malloc(sizeof(*made));
    SIM_RETURN_IF(!made, CUDA_ERROR_OUT_OF_MEMORY);
    made->count = sum < DEVICE_MULTIPROCESSORS ? sum : DEVICE_MULTIPROCESSORS;
    SCOPED_LOCK(&lock);
    made->next = descriptions;
    descriptions = made;
    *out = made;
    return CUDA_SUCCESS;
}

static bool green_context_is_description(CUdevResourceDesc description)
{
    SCOPED_LOCK(&lock);
    const struct CUdevResourceDesc_st *at = descriptions;
    while (at && at != description)
        at = at->next;
    return at;
}

// ---- contexts ----

SIM_API(cuGreenCtxCreate, CUgreenCtx *out, CUdevResourceDesc description, CUdevice index,
        unsigned int flags)
{
    CUcontext primary;
    struct context *context;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || flags != CU_GREEN_CTX_DEFAULT_STREAM, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(description && !green_context_is_description(description),
                  CUDA_ERROR_INVALID_DEVICE);
    SIM_TRY(primary_context_retain(index, &primary));
    struct green_context *green = calloc(1, sizeof(*green));
    if (!green || context_get(primary, &context)) {
        free(green);
        primary_context_release(index);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    green->context = context;
    green->device = index;
    green->count = description ? description->count : DEVICE_MULTIPROCESSORS;
    object_init(&green->object, OBJECT_GREEN, NULL, green_free);
    CUresult result = handle_publish(&green->object);
    if (result) {
        object_put(&green->object);
        primary_context_release(index);
        return result;
    }
    *out = object_handle(&green->object);
    return CUDA_SUCCESS;
}

static CUresult green_context_find(CUgreenCtx handle, CUresult wrong, struct green_context **out)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_CONTEXT);
    *out = handle_get(OBJECT_GREEN, handle);
    return *out ? CUDA_SUCCESS : wrong;
}

SIM_API(cuGreenCtxDestroy, CUgreenCtx handle)
{
    struct green_context *green;
    SIM_TRY(green_context_find(handle, CUDA_ERROR_CONTEXT_IS_DESTROYED, &green));
    CUdevice device = green->device;
    bool first = handle_revoke(&green->object);
    if (first)
        object_put(&green->object);
    object_put(&green->object);
    return first ? primary_context_release(device) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

SIM_API(cuCtxFromGreenCtx, CUcontext *out, CUgreenCtx handle)
{
    SCOPED_OBJECT struct green_context *green = NULL;
    SIM_TRY(green_context_find(handle, CUDA_ERROR_CONTEXT_IS_DESTROYED, &green));
    if (out)
        *out = (CUcontext)(void *)handle;
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuGreenCtxGetDevResource, CUgreenCtx handle, CUdevResource *resource,
        CUdevResourceType type)
{
    SCOPED_OBJECT struct green_context *green = NULL;
    SIM_TRY(green_context_find(handle, CUDA_ERROR_CONTEXT_IS_DESTROYED, &green));
    return resource_of((CUcontext)(void *)handle, resource, type);
}
