// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/suspend/movable_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "daemon/worker/suspend/streams_query.h"

enum {
    BUCKETS = 1024,
    LEAST_BYTES = 2 << 20,   // smaller allocations share pages of the GPU
    DRIVER_SUSPENDS = 12080, // the first version of the driver with cuCheckpoint*
};

static struct movable *buckets[BUCKETS]; // by address
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t total; // bytes of this process's own
static _Atomic bool any;       // there has been movable memory

static struct movable **movable_find(CUdeviceptr address)
{
    struct movable **at = &buckets[(address >> 21) % BUCKETS];

    while (*at && (*at)->address != address)
        at = &(*at)->next;
    return at;
}

static struct movable *movable_take_out(CUdeviceptr address)
{
    SCOPED_LOCK(&lock);
    struct movable **at = movable_find(address), *memory = *at;
    if (!memory)
        return NULL;
    *at = memory->next;
    if (!memory->imported)
        atomic_fetch_sub(&total, memory->size);
    return memory;
}

static void movable_put_in(struct movable *memory)
{
    SCOPED_LOCK(&lock);
    struct movable **at = movable_find(memory->address);
    memory->next = *at;
    *at = memory;
    if (!memory->imported)
        atomic_fetch_add(&total, memory->size);
    atomic_store(&any, true);
}

// ---- the driver's part ----

static CUmemAllocationProp movable_properties(int device)
{
    CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpus.list[device].handle}};
    int direct = 0;

    if (driver.cuDeviceGetAttribute(&direct,
                                    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
                                    gpus.list[device].handle) == CUDA_SUCCESS)
        properties.allocFlags.gpuDirectRDMACapable = direct != 0;
    return properties;
}

static CUresult movable_map(const struct movable *memory)
{
    const CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                                 gpus.list[memory->device].handle},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = driver.cuMemMap(memory->address, memory->size, 0, memory->handle, 0);

    if (result != CUDA_SUCCESS)
        return result;
    result = driver.cuMemSetAccess(memory->address, memory->size, &access, 1);
    if (result != CUDA_SUCCESS)
        driver.cuMemUnmap(memory->address, memory->size);
    return result;
}

CUresult movable_put_up(struct movable *memory)
{
    const CUmemAllocationProp properties = movable_properties(memory->device);
    CUresult result = driver.cuMemCreate(&memory->handle, memory->size, &properties, 0);

    if (result != CUDA_SUCCESS)
        return result;
    result = movable_map(memory);
    if (result == CUDA_SUCCESS)
        return result;
    driver.cuMemRelease(memory->handle);
    memory->handle = 0;
    return result;
}

CUresult movable_take_down(struct movable *memory)
{
    CUresult result = driver.cuMemUnmap(memory->address, memory->size);

    if (result != CUDA_SUCCESS)
        return result;
    driver.cuMemRelease(memory->handle);
    memory->handle = 0;
    return CUDA_SUCCESS;
}

static void movable_end(struct movable *memory)
{
    CUresult result = memory->handle ? movable_take_down(memory) : CUDA_SUCCESS;

    if (result == CUDA_SUCCESS)
        result = driver.cuMemAddressFree(memory->address, memory->size);
    if (result != CUDA_SUCCESS)
        log_warn("device memory was not freed address=0x%llx size=%llu result=%d",
                 (unsigned long long)memory->address, (unsigned long long)memory->size,
                 (int)result);
    free(memory);
}

// ---- allocation ----

static bool movable_device_suits(int device)
{
    int supported = 0;

    return driver.cuMemAddressReserve && driver.cuMemAddressFree && driver.cuMemCreate &&
           driver.cuMemRelease && driver.cuMemMap && driver.cuMemUnmap && driver.cuMemSetAccess &&
           driver.cuMemExportToShareableHandle && driver.cuMemImportFromShareableHandle &&
           driver.cuMemGetInfo_v2 && driver.cuDeviceGetAttribute &&
           driver.cuDeviceGetAttribute(&supported,
                                       CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                       gpus.list[device].handle) == CUDA_SUCCESS &&
           supported;
}

// The memory is whole pages. If the driver's pages are unknown, the account counts bytes.
static bool movable_size_suits(int device, uint64_t size)
{
    return size >= LEAST_BYTES && (gpus.list[device].page || size % LEAST_BYTES == 0);
}

bool movable_suits(int device, uint64_t size)
{
    return setup.worker.movable_memory && movable_size_suits(device, size) &&
           session.device_count == 1 && !setup.peer_gpus && !*setup.mps_pipe &&
           gpus.driver_version >= DRIVER_SUSPENDS && movable_device_suits(device);
}

// Returns a record with reserved addresses; NULL with the reason in *RESULT.
static struct movable *movable_new(int device, uint64_t size, CUcontext context, CUresult *result)
{
    const CUmemAllocationProp properties = movable_properties(device);
    size_t unit = 0;

    *result =
        driver.cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (*result != CUDA_SUCCESS)
        return NULL;
    struct movable *memory = size <= UINT64_MAX - unit ? malloc(sizeof(*memory)) : NULL;
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!memory)
        return NULL;
    *memory = (struct movable){.size = (size + unit - 1) / unit * unit,
                               .device = device,
                               .context = context};
    *result = driver.cuMemAddressReserve(&memory->address, memory->size, 0, 0, 0);
    if (*result == CUDA_SUCCESS)
        return memory;
    free(memory);
    return NULL;
}

// cuMemCreate succeeds after a fault of the GPU, when cuMemAlloc returns the fault's error, as
// cuMemGetInfo does.
static CUresult movable_look_for_fault(void)
{
    size_t available, all;

    return driver.cuMemGetInfo_v2(&available, &all);
}

CUresult movable_allocate(int device, uint64_t size, CUcontext context, CUdeviceptr *address)
{
    CUresult result = movable_look_for_fault();
    struct movable *memory = result == CUDA_SUCCESS ? movable_new(device, size, context, &result)
                                                    : NULL;

    if (!memory)
        return result;
    result = movable_put_up(memory);
    if (result != CUDA_SUCCESS) {
        driver.cuMemAddressFree(memory->address, memory->size);
        free(memory);
        return result;
    }
    *address = memory->address;
    movable_put_in(memory);
    return CUDA_SUCCESS;
}

bool movable_is(CUdeviceptr address)
{
    if (!atomic_load_explicit(&any, memory_order_relaxed))
        return false;
    SCOPED_LOCK(&lock);
    return *movable_find(address) != NULL;
}

// ---- free ----

// Waits as the driver does before it frees memory. During a capture the driver refuses to wait for
// the whole context, so only the other streams are waited for.
static CUresult movable_await_gpu(CUdeviceptr address)
{
    CUcontext context = NULL;

    {
        SCOPED_LOCK(&lock);
        const struct movable *memory = *movable_find(address);
        if (!memory)
            return CUDA_ERROR_INVALID_VALUE;
        context = memory->context;
    }
    CUresult result = driver.cuCtxPushCurrent_v2(context);
    if (result != CUDA_SUCCESS)
        return result;
    if (streams_query() & STREAMS_CAPTURED)
        streams_await();
    else
        result = driver.cuCtxSynchronize();
    driver.cuCtxPopCurrent_v2(&context);
    return result;
}

CUresult movable_free(CUdeviceptr address)
{
    CUresult result = movable_await_gpu(address);
    struct movable *memory = result == CUDA_SUCCESS ? movable_take_out(address) : NULL;

    if (memory)
        movable_end(memory);
    return result;
}

static struct movable *movable_take_one_of(CUcontext context)
{
    CUdeviceptr address = 0;

    {
        SCOPED_LOCK(&lock);
        for (size_t i = 0; i < BUCKETS && !address; i++)
            for (const struct movable *memory = buckets[i]; memory; memory = memory->next)
                if (memory->context == context)
                    address = memory->address;
    }
    return address ? movable_take_out(address) : NULL;
}

void movable_context_ended(CUcontext context)
{
    struct movable *memory;

    if (!atomic_load_explicit(&any, memory_order_relaxed))
        return;
    while ((memory = movable_take_one_of(context)))
        movable_end(memory);
}

// ---- shared with other processes ----

CUresult movable_export(CUdeviceptr address, int *fd)
{
    SCOPED_LOCK(&lock);
    const struct movable *memory = *movable_find(address);
    return memory ? driver.cuMemExportToShareableHandle(fd, memory->handle,
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult movable_import(int fd, int device, uint64_t size, CUcontext context, CUdeviceptr *address)
{
    CUresult result;
    struct movable *memory = movable_new(device, size, context, &result);

    if (!memory)
        return result;
    memory->imported = true;
    result = driver.cuMemImportFromShareableHandle(&memory->handle, (void *)(intptr_t)fd,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result == CUDA_SUCCESS) {
        result = movable_map(memory);
        if (result != CUDA_SUCCESS)
            driver.cuMemRelease(memory->handle);
    }
    if (result != CUDA_SUCCESS) {
        driver.cuMemAddressFree(memory->address, memory->size);
        free(memory);
        return result;
    }
    *address = memory->address;
    movable_put_in(memory);
    return CUDA_SUCCESS;
}

// ---- for memory_image.c ----

CUresult movable_each(CUresult (*act)(struct movable *memory, void *argument), void *argument)
{
    CUresult result = CUDA_SUCCESS;

    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct movable *memory = buckets[i]; memory && result == CUDA_SUCCESS;
             memory = memory->next)
            if (!memory->imported)
                result = act(memory, argument);
    return result;
}

uint64_t movable_bytes(void)
{
    return atomic_load(&total);
}
