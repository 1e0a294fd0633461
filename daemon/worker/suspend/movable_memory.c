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

// Under lock.
static void movable_unlink(struct movable **at)
{
    struct movable *memory = *at;

    *at = memory->next;
    if (!memory->imported)
        atomic_fetch_sub(&total, memory->size);
}

static struct movable *movable_take_out(CUdeviceptr address)
{
    SCOPED_LOCK(&lock);
    struct movable **at = movable_find(address), *memory = *at;
    if (memory)
        movable_unlink(at);
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

// The kind of memory that a device has for this, queried once.
static struct {
    bool is_known;
    size_t unit; // granularity in bytes; 0: the device has no such memory
    CUmemAllocationProp properties;
} kinds[GPUS_MAX]; // under lock until is_known

static bool movable_attribute(int device, CUdevice_attribute attribute)
{
    int value = 0;

    return driver.cuDeviceGetAttribute &&
           driver.cuDeviceGetAttribute(&value, attribute, gpus.list[device].handle) ==
               CUDA_SUCCESS &&
           value;
}

static bool movable_driver_suits(int device)
{
    return driver.cuMemAddressReserve && driver.cuMemAddressFree && driver.cuMemCreate &&
           driver.cuMemRelease && driver.cuMemMap && driver.cuMemUnmap && driver.cuMemSetAccess &&
           driver.cuMemExportToShareableHandle && driver.cuMemImportFromShareableHandle &&
           driver.cuMemGetAllocationGranularity && driver.cuMemGetInfo_v2 &&
           movable_attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
}

// Returns the granularity of memory of the device; 0: it has none that can be moved.
static size_t movable_unit(int device)
{
    CUmemAllocationProp *properties = &kinds[device].properties;

    SCOPED_LOCK(&lock);
    if (kinds[device].is_known)
        return kinds[device].unit;
    *properties =
        (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpus.list[device].handle}};
    properties->allocFlags.gpuDirectRDMACapable =
        movable_attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
    if (!movable_driver_suits(device) ||
        driver.cuMemGetAllocationGranularity(&kinds[device].unit, properties,
                                             CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
        kinds[device].unit = 0;
    kinds[device].is_known = true;
    return kinds[device].unit;
}

// Maps the memory of the handle. On failure releases it.
static CUresult movable_map(struct movable *memory)
{
    const CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                                 gpus.list[memory->device].handle},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = driver.cuMemMap(memory->address, memory->size, 0, memory->handle, 0);

    if (result == CUDA_SUCCESS) {
        result = driver.cuMemSetAccess(memory->address, memory->size, &access, 1);
        if (result != CUDA_SUCCESS)
            driver.cuMemUnmap(memory->address, memory->size);
    }
    if (result != CUDA_SUCCESS) {
        driver.cuMemRelease(memory->handle);
        memory->handle = 0;
    }
    return result;
}

CUresult movable_put_up(struct movable *memory)
{
    CUresult result =
        driver.cuMemCreate(&memory->handle, memory->size, &kinds[memory->device].properties, 0);

    return result == CUDA_SUCCESS ? movable_map(memory) : result;
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

// The memory is whole pages. If the driver's pages are unknown, the account counts bytes.
static bool movable_size_suits(int device, uint64_t size)
{
    return size >= LEAST_BYTES && (gpus.list[device].page || size % LEAST_BYTES == 0);
}

bool movable_suits(int device, uint64_t size)
{
    return setup.worker.movable_memory && movable_size_suits(device, size) &&
           session.device_count == 1 && !setup.peer_gpus && !*setup.mps_pipe &&
           gpus.driver_version >= DRIVER_SUSPENDS && movable_unit(device);
}

// Returns a record with reserved addresses; NULL with the reason in *RESULT.
static struct movable *movable_new(int device, uint64_t size, CUcontext context, CUresult *result)
{
    size_t unit = movable_unit(device);
    struct movable *memory = unit && size <= UINT64_MAX - unit ? malloc(sizeof(*memory)) : NULL;

    *result = unit ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_SUPPORTED;
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

// Enters memory that is mapped, or frees its record if RESULT says that it is not.
static CUresult movable_enter(struct movable *memory, CUresult result, CUdeviceptr *address)
{
    if (result == CUDA_SUCCESS) {
        *address = memory->address;
        movable_put_in(memory);
    } else {
        driver.cuMemAddressFree(memory->address, memory->size);
        free(memory);
    }
    return result;
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

    return memory ? movable_enter(memory, movable_put_up(memory), address) : result;
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

// Takes out all memory of a context. Returns it as a list.
static struct movable *movable_take_all_of(CUcontext context)
{
    struct movable *taken = NULL;

    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct movable **at = &buckets[i]; *at;) {
            struct movable *memory = *at;
            if (memory->context != context) {
                at = &memory->next;
                continue;
            }
            movable_unlink(at);
            memory->next = taken;
            taken = memory;
        }
    return taken;
}

void movable_context_ended(CUcontext context)
{
    struct movable *next = NULL;

    if (!atomic_load_explicit(&any, memory_order_relaxed))
        return;
    for (struct movable *memory = movable_take_all_of(context); memory; memory = next) {
        next = memory->next;
        movable_end(memory);
    }
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
    return movable_enter(memory, result == CUDA_SUCCESS ? movable_map(memory) : result, address);
}

// ---- for memory_image.c ----

struct movable **movable_list(size_t *count)
{
    size_t most = 0;

    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct movable *memory = buckets[i]; memory; memory = memory->next)
            most += !memory->imported;
    struct movable **list = most ? calloc(most, sizeof(struct movable *)) : NULL;
    *count = 0;
    for (size_t i = 0; list && i < BUCKETS; i++)
        for (struct movable *memory = buckets[i]; memory; memory = memory->next)
            if (!memory->imported)
                list[(*count)++] = memory;
    return list;
}

uint64_t movable_bytes(void)
{
    return atomic_load(&total);
}
