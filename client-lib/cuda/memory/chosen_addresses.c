// SPDX-License-Identifier: BSD-3-Clause
// See chosen_addresses.h.
#include "client-lib/cuda/memory/chosen_addresses.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client-lib/cuda/memory/physical_memory.h"
#include "client-lib/cuda/memory/virtual_memory.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/ranges.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/log.h"
#include "common/base/scope.h"

// NVIDIA's driver reserves addresses where it is asked to from here on, and Linux maps neither
// programs nor libraries nor other memory there (measured with driver 580).
#define ADDRESSES_FROM UINT64_C(0x200000000000)
#define ALIGNMENT ((size_t)2 << 20) // of addresses that drivers reserve where they are asked to

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // protects the ranges
static struct ranges chosen;
static atomic_bool any;
static atomic_ullong next = ADDRESSES_FROM;

// Maps physical memory at reserved ADDRESS and opens it to its device. After a failure the caller
// unmaps the range.
static CUresult chosen_map(CUdeviceptr address, size_t size, const CUmemAllocationProp *properties)
{
    const CUmemAccessDesc access = {.location = properties->location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle memory;
    CUresult result = physical_create(&memory, size, properties);

    if (result != CUDA_SUCCESS)
        return result;
    result = virtual_map(address, size, memory);
    // The mapping keeps the memory.
    (void)physical_release(memory);
    return result == CUDA_SUCCESS ? virtual_open(address, size, &access, 1) : result;
}

CUresult chosen_allocate(CUdevice device, size_t size, CUdeviceptr *dptr)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                         .id = device}};
    size_t unit;
    CUdeviceptr address;
    CUresult result = physical_granularity(&properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM, &unit);

    if (result != CUDA_SUCCESS)
        return result;
    if (size > SIZE_MAX - unit)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size = (size + unit - 1) / unit * unit;
    result =
        virtual_reserve(&address, size, 0,
                        atomic_fetch_add(&next, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT));
    if (result != CUDA_SUCCESS)
        return result;
    result = chosen_map(address, size, &properties);
    if (result == CUDA_SUCCESS) {
        SCOPED_LOCK(&lock);
        if (ranges_add(&chosen, address, size, (void *)(uintptr_t)thread_context()))
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result != CUDA_SUCCESS) {
        (void)virtual_unmap(address, size);
        (void)virtual_unreserve(address, size);
        return result;
    }
    atomic_store(&any, true);
    log_info("this process has memory where the box allocates: device memory moves address=0x%llx "
             "size=%zu",
             (unsigned long long)address, size);
    *dptr = address;
    return CUDA_SUCCESS;
}

// Returns false if the memory at DPTR is not of this file. *CONTEXT: where it was allocated.
static bool chosen_forget(CUdeviceptr dptr, size_t *size, CUcontext *context)
{
    void *value = NULL;

    if (!atomic_load_explicit(&any, memory_order_relaxed))
        return false;
    SCOPED_LOCK(&lock);
    const struct range *range = ranges_find(&chosen, dptr);
    *size = range ? range->size : 0;
    bool found = ranges_remove(&chosen, dptr, &value);
    *context = value;
    return found;
}

static CUresult chosen_unmap(CUdeviceptr address, size_t size)
{
    CUresult result = virtual_unmap(address, size);

    return result == CUDA_SUCCESS ? virtual_unreserve(address, size) : result;
}

bool chosen_free(CUdeviceptr dptr, CUresult *result)
{
    CUcontext context;
    size_t size;

    if (!chosen_forget(dptr, &size, &context))
        return false;
    (void)context_within(context, remote_cuCtxSynchronize);
    *result = chosen_unmap(dptr, size);
    return true;
}

// Memory that a stream still has to come to. NVIDIA's driver unmaps at once, also what the GPU is
// using (driver 580), so a thread waits.
struct late_free {
    CUdeviceptr address;
    size_t size;
    CUcontext context; // of the stream, and of the event
    CUevent reached;
};

static void *free_late(void *argument)
{
    struct late_free *late = argument;

    if (thread_push_context(late->context) == CUDA_SUCCESS) {
        (void)remote_cuEventSynchronize(late->reached);
        (void)remote_cuEventDestroy_v2(late->reached);
        thread_pop_context(NULL);
    }
    (void)chosen_unmap(late->address, late->size);
    free(late);
    return NULL;
}

static CUresult record_reach(struct late_free *late, CUstream stream)
{
    const struct object *object = object_find(HANDLE_STREAM, stream);
    CUresult result;

    late->context = (CUcontext)(uintptr_t)(object ? object->context : thread_context());
    result = thread_push_context(late->context);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_cuEventCreate(&late->reached, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS)
        result = remote_cuEventRecord(late->reached, stream);
    thread_pop_context(NULL);
    return result;
}

bool chosen_free_in(CUdeviceptr dptr, CUstream stream, CUresult *result)
{
    struct late_free *late;
    CUcontext context;
    size_t size;

    if (!chosen_forget(dptr, &size, &context))
        return false;
    late = malloc(sizeof(*late));
    if (late)
        *late = (struct late_free){.address = dptr, .size = size};
    *result = late ? record_reach(late, stream) : CUDA_ERROR_OUT_OF_MEMORY;
    if (*result != CUDA_SUCCESS)
        free(late);
    else if (!thread_start(free_late, late))
        free_late(late);
    return true;
}
