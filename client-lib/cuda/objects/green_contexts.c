// SPDX-License-Identifier: BSD-3-Clause
// See green_contexts.h. A resource is opaque data of the box's driver. This file stores the
// program's device number in a word of it that drivers do not use.
#include "client-lib/cuda/objects/green_contexts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"
#include "common/base/scope.h"

enum { GROUPS_MAX = 256 };

struct CUdevResourceDesc_st {
    struct CUdevResourceDesc_st *next;
    CUdevice device;
    unsigned int count;
    CUdevResource resources[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUdevResourceDesc_st *descriptions; // under lock

// ---- owners of resources ----

static uint32_t *mark_of(CUdevResource *resource)
{
    return (uint32_t *)(void *)resource->_internal_padding;
}

static void mark(CUdevResource *resource, CUdevice device)
{
    *mark_of(resource) = (uint32_t)device + 1;
}

// Finds the box's form of a resource. CUDA_ERROR_INVALID_RESOURCE_TYPE: it is no resource.
static CUresult unmark(const CUdevResource *resource, CUdevResource *out, CUdevice *device)
{
    *out = *resource;
    *device = (CUdevice)(*mark_of(out) - 1);
    *mark_of(out) = 0;
    return resource->type == CU_DEV_RESOURCE_TYPE_SM && session_of_device(*device)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_RESOURCE_TYPE;
}

// ---- resources ----

CUresult resource_of_device(CUdevice device, CUdevResourceType type, CUdevResource *resource)
{
    CUdevResource got;
    CUresult result = remote_device_resource(device, type, &got);
    if (result != CUDA_SUCCESS)
        return result;
    mark(&got, device);
    *resource = got;
    return CUDA_SUCCESS;
}

CUresult resource_of_context(const struct object *context, CUdevResourceType type,
                             CUdevResource *resource)
{
    CUdevResource got;
    CUresult result = remote_context_resource((CUcontext)(uintptr_t)context->handle, type, &got);
    if (result != CUDA_SUCCESS)
        return result;
    mark(&got, context->ctx.device);
    *resource = got;
    return CUDA_SUCCESS;
}

static CUresult ask_for_split(CUdevResource *into, unsigned int *groups, const CUdevResource *input,
                              CUdevResource *remaining, unsigned int flags, unsigned int minimum)
{
    CUdevResource given, rest;
    CUdevice device;
    size_t used = 0;
    unsigned int room = into ? *groups : 0, found = 0;
    CUresult result = unmark(input, &given, &device);
    if (room > GROUPS_MAX)
        room = GROUPS_MAX;
    if (result == CUDA_SUCCESS)
        result = remote_resource_split(device, room, flags, minimum, &given, &found, &rest, into,
                                       room * sizeof(*into), &used);
    if (result != CUDA_SUCCESS)
        return result;
    for (unsigned int i = 0; i < used / sizeof(*into); i++)
        mark(&into[i], device);
    mark(&rest, device);
    *groups = found;
    if (remaining)
        *remaining = rest;
    return CUDA_SUCCESS;
}

CUresult resource_split(CUdevResource *result, unsigned int *groups, const CUdevResource *input,
                        CUdevResource *remaining, unsigned int flags, unsigned int minimum)
{
    unsigned int count = *groups;
    SCOPED_FREE CUdevResource *into = result ? calloc(GROUPS_MAX, sizeof(*into)) : NULL;
    if (result && !into)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult answer = ask_for_split(into, &count, input, remaining, flags, minimum);
    if (answer != CUDA_SUCCESS)
        return answer;
    if (result)
        memcpy(result, into, (count < *groups ? count : *groups) * sizeof(*into));
    *groups = count;
    return CUDA_SUCCESS;
}

// ---- descriptions ----

CUresult resource_describe(const CUdevResource *resources, unsigned int count,
                           CUdevResourceDesc *description)
{
    CUdevice device;
    if (count > GROUPS_MAX)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    SCOPED_FREE struct CUdevResourceDesc_st *made =
        calloc(1, sizeof(*made) + count * sizeof(*resources));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (made->count = 0; made->count < count; made->count++) {
        CUresult result = unmark(&resources[made->count], &made->resources[made->count], &device);
        if (result == CUDA_SUCCESS && made->count && device != made->device)
            result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        if (result != CUDA_SUCCESS)
            return result;
        made->device = device;
    }
    CUresult result =
        remote_resource_check(made->device, made->resources, count * sizeof(*resources));
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    made->next = descriptions;
    descriptions = made;
    *description = made;
    made = NULL;
    return CUDA_SUCCESS;
}

static bool green_contexts_is_description(CUdevResourceDesc description)
{
    SCOPED_LOCK(&lock);
    const struct CUdevResourceDesc_st *at = descriptions;
    while (at && at != description)
        at = at->next;
    return at;
}

// ---- contexts ----

// The new context holds a reference to the primary one, as the driver's contexts do.
CUresult green_create(CUdevResourceDesc description, CUdevice device, unsigned int flags,
                      CUgreenCtx *green)
{
    CUcontext primary, made;
    if (!session_of_device(device) ||
        (description &&
         (!green_contexts_is_description(description) || description->device != device)))
        return CUDA_ERROR_INVALID_DEVICE;
    CUresult result = primary_retain(device, &primary);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_green_create(&made, device, flags, description ? description->resources : NULL,
                                 description ? description->count * sizeof(CUdevResource) : 0);
    if (result != CUDA_SUCCESS) {
        primary_drop(device, false);
        return result;
    }
    context_enter_green(object_find(HANDLE_CONTEXT, made), device,
                        object_find(HANDLE_CONTEXT, primary));
    *green = (CUgreenCtx)(void *)made;
    return CUDA_SUCCESS;
}

CUresult green_find(CUgreenCtx green, CUresult wrong, struct object **context)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    *context = object_find(HANDLE_CONTEXT, green);
    if (*context && (*context)->ctx.green)
        return CUDA_SUCCESS;
    return green ? wrong : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult green_destroy(CUgreenCtx green)
{
    struct object *context;
    CUresult result = green_find(green, CUDA_ERROR_CONTEXT_IS_DESTROYED, &context);
    if (result != CUDA_SUCCESS)
        return result;
    CUdevice device = context->ctx.device;
    result = remote_green_destroy((CUcontext)(void *)green);
    if (result != CUDA_SUCCESS)
        return result;
    context_gone((CUcontext)(void *)green);
    return primary_drop(device, false);
}
