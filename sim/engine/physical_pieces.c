// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls that create physical memory, describe it, and export it to other processes.
#include "sim/engine/physical_pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/engine/handle.h"
#include "sim/engine/memory_pool.h"
#include "common/base/scope.h"

#define FINE ((size_t)4096)
#define COARSE ((size_t)2 << 20)
#define LABEL_MAGIC UINT64_C(0x72677075706d3031)

struct sim_physical {
    struct sim_object object;
    struct device *device;
    size_t size;
    int file;
    size_t charged; // bytes charged to the device; 0: imported
    CUmemAllocationProp properties;

    pthread_mutex_t lock;
    unsigned uses; // number of uses of the handle
};

// Written after the memory in its file, for processes that import it.
struct label {
    uint64_t magic;
    uint64_t size;
    int ordinal;
    CUmemAllocationProp properties;
};

size_t sim_physical_granularity(CUmemAllocationGranularity_flags option)
{
    size_t page = device_config()->page;
    return page ? page : option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED ? COARSE : FINE;
}

struct device *sim_physical_device(const struct sim_physical *physical)
{
    return physical->device;
}

size_t sim_physical_size(const struct sim_physical *physical)
{
    return physical->size;
}

int sim_physical_file(const struct sim_physical *physical)
{
    return physical->file;
}

unsigned sim_physical_handle_types(const struct sim_physical *physical)
{
    return physical->properties.requestedHandleTypes;
}

bool sim_physical_is_tile_pool(const struct sim_physical *physical)
{
    return physical->properties.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL;
}

void sim_physical_hold(struct sim_physical *physical)
{
    object_hold(&physical->object);
}

void sim_physical_put(struct sim_physical *physical)
{
    object_put(&physical->object);
}

static void physical_pieces_destroy(struct sim_object *object)
{
    struct sim_physical *physical = (struct sim_physical *)object;
    if (physical->charged)
        device_uncharge(physical->device, physical->charged);
    close(physical->file);
    pthread_mutex_destroy(&physical->lock);
    free(physical);
}

// Takes over the file.
static CUresult physical_pieces_publish(struct device *device, int file, size_t size,
                                        size_t charged, const CUmemAllocationProp *properties,
                                        CUmemGenericAllocationHandle *out)
{
    struct sim_physical *physical = calloc(1, sizeof(*physical));
    if (!physical) {
        close(file);
        if (charged)
            device_uncharge(device, charged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object_init(&physical->object, OBJECT_PHYSICAL, NULL, physical_pieces_destroy);
    physical->device = device;
    physical->size = size;
    physical->file = file;
    physical->charged = charged;
    physical->properties = *properties;
    physical->uses = 1;
    pthread_mutex_init(&physical->lock, NULL);
    CUresult result = handle_publish(&physical->object);
    if (result)
        sim_physical_put(physical);
    else
        *out = physical->object.handle;
    return result;
}

// ---- creation ----

static CUresult check_properties(const CUmemAllocationProp *properties, struct device **device)
{
    SIM_RETURN_IF(properties->type != CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE,
                  CUDA_ERROR_NOT_SUPPORTED);
    SIM_RETURN_IF(properties->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                  CUDA_ERROR_NOT_SUPPORTED);
    SIM_RETURN_IF(properties->allocFlags.usage & ~CU_MEM_CREATE_USAGE_TILE_POOL,
                  CUDA_ERROR_NOT_SUPPORTED);
    return device_get(properties->location.id, device);
}

SIM_API(cuMemGetAllocationGranularity, size_t *granularity, const CUmemAllocationProp *properties,
        CUmemAllocationGranularity_flags option)
{
    struct device *device;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!granularity || !properties ||
                      (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                       option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(check_properties(properties, &device));
    *granularity = sim_physical_granularity(option);
    return CUDA_SUCCESS;
}

static int physical_pieces_make_file(struct device *device, size_t size,
                                     const CUmemAllocationProp *properties)
{
    struct label label;
    int file = memfd_create("rgpu-sim-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    memset(&label, 0, sizeof(label));
    label.magic = LABEL_MAGIC;
    label.size = size;
    label.ordinal = device->ordinal;
    label.properties = *properties;
    if (file >= 0 && pwrite(file, &label, sizeof(label), (off_t)size) == (ssize_t)sizeof(label) &&
        !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return file;
    if (file >= 0)
        close(file);
    return -ENOMEM;
}

SIM_API(cuMemCreate, CUmemGenericAllocationHandle *handle, size_t size,
        const CUmemAllocationProp *properties, unsigned long long flags)
{
    struct device *device;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle || !properties || flags || !size ||
                      size % sim_physical_granularity(CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(check_properties(properties, &device));
    SIM_RETURN_IF(size > device->total_memory, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = device_charge(device, size);
    if (result && pool_trim_device(device))
        result = device_charge(device, size);
    SIM_TRY(result);
    int file = physical_pieces_make_file(device, size, properties);
    if (file < 0) {
        device_uncharge(device, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return physical_pieces_publish(device, file, size, size, properties, handle);
}

// ---- handles ----

CUresult sim_physical_get(CUmemGenericAllocationHandle handle, struct sim_physical **out)
{
    SIM_TRY(sim_check_ready());
    struct sim_physical *physical = handle_get(OBJECT_PHYSICAL, (void *)(uintptr_t)handle);
    SIM_RETURN_IF(!physical, CUDA_ERROR_INVALID_VALUE);
    *out = physical;
    return CUDA_SUCCESS;
}

CUresult sim_physical_retain(struct sim_physical *physical, CUmemGenericAllocationHandle *handle)
{
    SCOPED_LOCK(&physical->lock);
    CUresult result = CUDA_SUCCESS;
    if (!physical->uses)
        result = handle_publish(&physical->object);
    if (!result && !physical->uses++)
        sim_physical_hold(physical);
    *handle = physical->object.handle;
    return result;
}

SIM_API(cuMemRelease, CUmemGenericAllocationHandle handle)
{
    struct sim_physical *physical;
    SIM_TRY(sim_physical_get(handle, &physical));
    pthread_mutex_lock(&physical->lock);
    bool held = physical->uses > 0;
    bool last = held && --physical->uses == 0;
    if (last)
        handle_revoke(&physical->object);
    pthread_mutex_unlock(&physical->lock);
    if (last)
        sim_physical_put(physical);
    sim_physical_put(physical);
    return held ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuMemGetAllocationPropertiesFromHandle, CUmemAllocationProp *properties,
        CUmemGenericAllocationHandle handle)
{
    SCOPED_OBJECT struct sim_physical *physical = NULL;
    SIM_RETURN_IF(!properties, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(sim_physical_get(handle, &physical));
    *properties = physical->properties;
    return CUDA_SUCCESS;
}

// ---- export and import ----

SIM_API(cuMemExportToShareableHandle, void *out, CUmemGenericAllocationHandle handle,
        CUmemAllocationHandleType type, unsigned long long flags)
{
    struct sim_physical *physical;
    SIM_RETURN_IF(!out || flags, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(sim_physical_get(handle, &physical));
    bool allowed = physical->properties.requestedHandleTypes & type;
    int file = allowed ? fcntl(physical->file, F_DUPFD_CLOEXEC, 3) : -1;
    sim_physical_put(physical);
    SIM_RETURN_IF(!allowed, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(file < 0, CUDA_ERROR_OUT_OF_MEMORY);
    *(int *)out = file;
    return CUDA_SUCCESS;
}

// Reads the label of a file that another process of this library created. Accepts only files that
// cannot shrink.
static bool read_label(int file, struct label *label)
{
    struct stat status;
    int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) && !fstat(file, &status) &&
           status.st_size > (off_t)sizeof(*label) &&
           pread(file, label, sizeof(*label), status.st_size - (off_t)sizeof(*label)) ==
               (ssize_t)sizeof(*label) &&
           label->magic == LABEL_MAGIC && label->size == (uint64_t)status.st_size - sizeof(*label);
}

SIM_API(cuMemImportFromShareableHandle, CUmemGenericAllocationHandle *handle, void *shared,
        CUmemAllocationHandleType type)
{
    struct label label;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(type == CU_MEM_HANDLE_TYPE_WIN32 || type == CU_MEM_HANDLE_TYPE_WIN32_KMT ||
                      type == CU_MEM_HANDLE_TYPE_FABRIC,
                  CUDA_ERROR_NOT_SUPPORTED);
    SIM_RETURN_IF(type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!read_label((int)(intptr_t)shared, &label), CUDA_ERROR_UNKNOWN);
    struct device *device = device_of_ordinal(label.ordinal);
    SIM_RETURN_IF(!device, CUDA_ERROR_INVALID_DEVICE);
    int file = fcntl((int)(intptr_t)shared, F_DUPFD_CLOEXEC, 3);
    SIM_RETURN_IF(file < 0, CUDA_ERROR_OUT_OF_MEMORY);
    label.properties.location.id = device->index;
    return physical_pieces_publish(device, file, label.size, 0, &label.properties, handle);
}
