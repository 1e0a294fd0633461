// SPDX-License-Identifier: BSD-3-Clause
// See physical_memory.h.
#include "client-lib/cuda/memory/physical_memory.h"

#include <pthread.h>

#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/report/tell.h"
#include "client-lib/cuda/session/process.h"
#include "client-lib/cuda/memory/kept_memory.h"
#include "client_calls.h"
#include "common/base/scope.h"

// Protects the counts of uses and mappings, and keeps the requests to the box in the same order.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult place_on_box(const CUmemLocation *location, struct box_session **session, int *number)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: break;
    case CU_MEM_LOCATION_TYPE_HOST: // it would be the box's memory, not the program's
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    *session = session_of_device(location->id);
    if (!*session)
        return CUDA_ERROR_INVALID_DEVICE;
    *number = box_device_number(location->id);
    return CUDA_SUCCESS;
}

static CUresult physical_memory_check(const CUmemAllocationProp *properties)
{
    struct box_session *session;
    int number;
    CUresult result = place_on_box(&properties->location, &session, &number);
    if (result == CUDA_SUCCESS && properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        result = CUDA_ERROR_INVALID_VALUE;
    // Descriptors are the only handles that can be passed to other processes of the box.
    if (result == CUDA_SUCCESS &&
        properties->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        result = CUDA_ERROR_NOT_SUPPORTED;
    return result;
}

CUresult physical_granularity(const CUmemAllocationProp *properties,
                              CUmemAllocationGranularity_flags option, size_t *granularity)
{
    CUresult result = physical_memory_check(properties);
    return result == CUDA_SUCCESS
               ? remote_memory_granularity(properties->location.id, properties, option, granularity)
               : result;
}

void physical_adopt(CUmemGenericAllocationHandle handle, CUdevice device, size_t size,
                    size_t granularity, const CUmemAllocationProp *properties)
{
    struct object *memory = object_find(HANDLE_MEMORY, (void *)(uintptr_t)handle);
    memory->memory.device = device;
    memory->memory.size = size;
    memory->memory.granularity = granularity ? granularity : 1;
    memory->memory.properties = *properties;
    memory->memory.uses = 1;
}

CUresult physical_create(CUmemGenericAllocationHandle *handle, size_t size,
                         const CUmemAllocationProp *properties)
{
    CUmemGenericAllocationHandle made;
    size_t granularity = 0;
    CUdevice device = properties->location.id;
    CUresult result = physical_memory_check(properties);
    if (result == CUDA_SUCCESS)
        do
            result = remote_memory_create(&made, device, size, properties, &granularity);
        while (kept_make_room(result));
    if (result == CUDA_ERROR_OUT_OF_MEMORY && session_of_device(device)->budgeted)
        tell_once(
            "physical memory of %zu bytes does not fit into the lease's share of GPU memory on box %s: "
            "ask for a larger share (srun --rgpu-mem, rgpuctl run --mem) or for a whole GPU",
            size, session_of_device(device)->box);
    if (result != CUDA_SUCCESS)
        return result;
    physical_adopt(made, device, size, granularity, properties);
    *handle = made;
    return CUDA_SUCCESS;
}

// Finds an object. HELD: only if the program has not released it. The caller holds the lock.
static struct object *physical_memory_find(CUmemGenericAllocationHandle handle, bool held)
{
    struct object *memory = object_find(HANDLE_MEMORY, (void *)(uintptr_t)handle);
    return memory && (!held || memory->memory.uses) ? memory : NULL;
}

static void retire_unused(const struct object *memory)
{
    if (!memory->memory.uses && !memory->memory.mappings)
        handle_retire(memory->handle);
}

CUresult physical_release(CUmemGenericAllocationHandle handle)
{
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    struct object *memory = physical_memory_find(handle, true);
    if (!memory)
        return CUDA_ERROR_INVALID_VALUE;
    if (--memory->memory.uses)
        return CUDA_SUCCESS;
    result = remote_memory_release(handle);
    retire_unused(memory);
    return result;
}

CUresult physical_retain(CUmemGenericAllocationHandle handle)
{
    SCOPED_LOCK(&lock);
    struct object *memory = physical_memory_find(handle, false);
    if (!memory)
        return CUDA_ERROR_INVALID_VALUE;
    return memory->memory.uses++ ? CUDA_SUCCESS : remote_memory_hold(handle);
}

CUresult physical_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp *properties)
{
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    const struct object *memory = physical_memory_find(handle, true);
    if (!memory)
        return CUDA_ERROR_INVALID_VALUE;
    *properties = memory->memory.properties;
    return CUDA_SUCCESS;
}

unsigned int physical_handle_types(CUmemGenericAllocationHandle handle)
{
    SCOPED_LOCK(&lock);
    const struct object *memory = physical_memory_find(handle, false);
    return memory ? memory->memory.properties.requestedHandleTypes : 0;
}

CUresult physical_map(CUmemGenericAllocationHandle handle, struct object **memory)
{
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    *memory = physical_memory_find(handle, true);
    if (!*memory)
        return CUDA_ERROR_INVALID_VALUE;
    (*memory)->memory.mappings++;
    return CUDA_SUCCESS;
}

void physical_unmap(CUmemGenericAllocationHandle handle)
{
    SCOPED_LOCK(&lock);
    struct object *memory = physical_memory_find(handle, false);
    if (!memory)
        return;
    memory->memory.mappings--;
    retire_unused(memory);
}
