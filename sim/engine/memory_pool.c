// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/context.h"
#include "sim/engine/memory_pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/scope.h"
#include "sim/engine/capture.h"
#include "sim/engine/handle.h"

struct memory_pool {
    struct sim_object object;
    struct device *device;
    bool is_default;
    uint64_t shared_id;       // 0: not exportable
    uint64_t imported_id;     // 0: not imported
    size_t max_size;          // 0: no limit
    struct memory_pool *next; // in all_pools

    pthread_mutex_t lock; // guards the fields below
    uint64_t threshold;
    uint64_t reserved;
    uint64_t reserved_high;
    uint64_t used; // including `leaving`
    uint64_t used_high;
    uint64_t leaving; // freed, but its stream has not reached the free
    int reuse[3];     // follow event dependencies, opportunistic, internal dependencies
    CUmemAccess_flags access[SIM_MAX_DEVICES];
    bool destroyed; // freed when nothing is in use
};

static struct {
    pthread_mutex_t lock;
    struct memory_pool *first;
} all_pools = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct device *pool_device(const struct memory_pool *pool)
{
    return pool->device;
}

CUmemoryPool pool_handle(const struct memory_pool *pool)
{
    return object_handle(&pool->object);
}

// Charges the device so that the pool has WANTED bytes reserved. Called under the lock.
static CUresult memory_pool_reserve(struct memory_pool *pool, uint64_t wanted)
{
    if (wanted <= pool->reserved)
        return CUDA_SUCCESS;
    if (pool->max_size && wanted > pool->max_size)
        return CUDA_ERROR_OUT_OF_MEMORY;
    SIM_TRY(device_charge(pool->device, wanted - pool->reserved));
    pool->reserved = wanted;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
    return CUDA_SUCCESS;
}

// Returns unused memory above KEEP to the device. Called under the lock.
static bool memory_pool_trim(struct memory_pool *pool, uint64_t keep)
{
    uint64_t wanted = pool->used > keep ? pool->used : keep;
    if (wanted >= pool->reserved)
        return false;
    device_uncharge(pool->device, pool->reserved - wanted);
    pool->reserved = wanted;
    return true;
}

CUresult pool_charge(struct memory_pool *pool, size_t bytes)
{
    for (int attempt = 0;; attempt++) {
        pthread_mutex_lock(&pool->lock);
        CUresult result = memory_pool_reserve(pool, pool->used + bytes);
        if (!result) {
            pool->used += bytes;
            if (pool->used > pool->used_high)
                pool->used_high = pool->used;
            object_hold(&pool->object);
        }
        pthread_mutex_unlock(&pool->lock);
        if (!result || attempt || !pool_trim_device(pool->device))
            return result;
    }
}

void pool_uncharge(struct memory_pool *pool, size_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->used -= bytes;
    memory_pool_trim(pool, pool->destroyed ? 0 : pool->threshold);
    pthread_mutex_unlock(&pool->lock);
    object_put(&pool->object);
}

void pool_note_leaving(struct memory_pool *pool, int64_t bytes)
{
    SCOPED_LOCK(&pool->lock);
    pool->leaving += (uint64_t)bytes;
}

bool pool_is_open_to(struct memory_pool *pool, const struct device *device)
{
    SCOPED_LOCK(&pool->lock);
    return pool->access[device->index] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

bool pool_trim_device(struct device *device)
{
    bool trimmed = false;
    SCOPED_LOCK(&all_pools.lock);
    for (struct memory_pool *pool = all_pools.first; pool; pool = pool->next) {
        SCOPED_LOCK(&pool->lock);
        if (pool->device == device && memory_pool_trim(pool, 0))
            trimmed = true;
    }
    return trimmed;
}

static void memory_pool_free(struct sim_object *object)
{
    struct memory_pool *pool = (struct memory_pool *)object;
    pthread_mutex_lock(&all_pools.lock);
    struct memory_pool **link = &all_pools.first;
    while (*link != pool)
        link = &(*link)->next;
    *link = pool->next;
    pthread_mutex_unlock(&all_pools.lock);
    memory_pool_trim(pool, 0);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static CUresult memory_pool_create(struct device *device, size_t max_size, bool is_default,
                                   struct memory_pool **out)
{
    struct memory_pool *pool = calloc(1, sizeof(*pool));
    SIM_RETURN_IF(!pool, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&pool->object, OBJECT_POOL, NULL, memory_pool_free);
    pool->device = device;
    pool->is_default = is_default;
    pool->max_size = max_size;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    pool->access[device->index] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_mutex_lock(&all_pools.lock);
    pool->next = all_pools.first;
    all_pools.first = pool;
    pthread_mutex_unlock(&all_pools.lock);
    CUresult result = handle_publish(&pool->object);
    if (result) {
        object_put(&pool->object);
        return result;
    }
    *out = pool;
    return CUDA_SUCCESS;
}

static CUresult memory_pool_get_default(struct device *device, struct memory_pool **out)
{
    CUresult result = CUDA_SUCCESS;
    SCOPED_LOCK(&device->lock);
    if (!device->default_pool)
        result = memory_pool_create(device, 0, true, &device->default_pool);
    *out = device->default_pool;
    return result;
}

CUresult device_current_pool(struct device *device, struct memory_pool **out)
{
    pthread_mutex_lock(&device->lock);
    *out = device->current_pool;
    pthread_mutex_unlock(&device->lock);
    return *out ? CUDA_SUCCESS : memory_pool_get_default(device, out);
}

CUresult pool_get(CUmemoryPool handle, struct memory_pool **out)
{
    SIM_TRY(sim_check_ready());
    struct memory_pool *pool = handle_get(OBJECT_POOL, handle);
    SIM_RETURN_IF(!pool, CUDA_ERROR_INVALID_VALUE);
    *out = pool;
    return CUDA_SUCCESS;
}

// Looks up a pool of this process. Imported pools have imported memory only.
static CUresult own_pool_get(CUmemoryPool handle, struct memory_pool **out)
{
    struct memory_pool *pool;
    SIM_TRY(pool_get(handle, &pool));
    if (pool->imported_id) {
        object_put(&pool->object);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = pool;
    return CUDA_SUCCESS;
}

void pool_put(struct memory_pool *pool)
{
    object_put(&pool->object);
}

uint64_t pool_shared_id(const struct memory_pool *pool)
{
    return pool->shared_id;
}

uint64_t pool_imported_id(const struct memory_pool *pool)
{
    return pool->imported_id;
}

static CUmemoryPool find_imported(uint64_t id)
{
    SCOPED_LOCK(&all_pools.lock);
    for (const struct memory_pool *pool = all_pools.first; pool; pool = pool->next)
        if (pool->imported_id == id && !pool->destroyed)
            return object_handle(&pool->object);
    return NULL;
}

CUresult pool_adopt(struct device *device, uint64_t id, CUmemoryPool *out)
{
    struct memory_pool *pool;
    *out = find_imported(id);
    if (*out)
        return CUDA_SUCCESS;
    SIM_TRY(memory_pool_create(device, 0, false, &pool));
    pool->imported_id = id;
    *out = pool_handle(pool);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetDefaultMemPool, CUmemoryPool *out, CUdevice index)
{
    struct device *device;
    struct memory_pool *pool;
    SIM_TRY(device_get(index, &device));
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(memory_pool_get_default(device, &pool));
    *out = pool_handle(pool);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetMemPool, CUmemoryPool *out, CUdevice index)
{
    struct device *device;
    struct memory_pool *pool;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || device_get(index, &device), CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(device_current_pool(device, &pool));
    *out = pool_handle(pool);
    return CUDA_SUCCESS;
}

SIM_API(cuDeviceSetMemPool, CUdevice index, CUmemoryPool handle)
{
    struct device *device;
    SCOPED_OBJECT struct memory_pool *pool = NULL;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(device_get(index, &device), CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(own_pool_get(handle, &pool));
    bool fits = pool->device == device;
    SCOPED_LOCK(&device->lock);
    if (fits)
        device->current_pool = pool->is_default ? NULL : pool;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult memory_pool_check_location(const CUmemLocation *location, CUmemAllocationType type,
                                           struct device **device)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!location || type != CU_MEM_ALLOCATION_TYPE_PINNED ||
                      location->type == CU_MEM_LOCATION_TYPE_INVALID ||
                      location->type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(location->type != CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    return device_get(location->id, device);
}

SIM_API(cuMemGetDefaultMemPool, CUmemoryPool *out, CUmemLocation *location,
        CUmemAllocationType type)
{
    struct device *device;
    SIM_TRY(memory_pool_check_location(location, type, &device));
    return cuDeviceGetDefaultMemPool(out, device->index);
}

SIM_API(cuMemGetMemPool, CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
    struct device *device;
    SIM_TRY(memory_pool_check_location(location, type, &device));
    return cuDeviceGetMemPool(out, device->index);
}

SIM_API(cuMemSetMemPool, CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    struct device *device;
    SIM_TRY(memory_pool_check_location(location, type, &device));
    return cuDeviceSetMemPool(device->index, pool);
}

SIM_API(cuMemPoolCreate, CUmemoryPool *out, const CUmemPoolProps *properties)
{
    struct device *device;
    struct memory_pool *pool;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || !properties, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(memory_pool_check_location(&properties->location, properties->allocType, &device));
    SIM_RETURN_IF(properties->handleTypes &
                      ~(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(properties->handleTypes & CU_MEM_HANDLE_TYPE_FABRIC, CUDA_ERROR_NOT_SUPPORTED);
    uint64_t id = 0;
    SIM_RETURN_IF(properties->handleTypes &&
                      getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id),
                  CUDA_ERROR_OPERATING_SYSTEM);
    SIM_TRY(memory_pool_create(device, properties->maxSize, false, &pool));
    pool->shared_id = id;
    *out = pool_handle(pool);
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolDestroy, CUmemoryPool handle)
{
    struct memory_pool *pool;
    SIM_TRY(pool_get(handle, &pool));
    if (pool->is_default || !handle_revoke(&pool->object)) {
        object_put(&pool->object);
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&pool->device->lock);
    if (pool->device->current_pool == pool)
        pool->device->current_pool = NULL;
    pthread_mutex_unlock(&pool->device->lock);
    pthread_mutex_lock(&pool->lock);
    pool->destroyed = true;
    memory_pool_trim(pool, 0);
    pthread_mutex_unlock(&pool->lock);
    object_put(&pool->object);
    object_put(&pool->object);
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolTrimTo, CUmemoryPool handle, size_t keep)
{
    SCOPED_OBJECT struct memory_pool *pool = NULL;
    SIM_TRY(sim_check_ready());
    SIM_TRY(capture_check_unsafe());
    SIM_TRY(own_pool_get(handle, &pool));
    SCOPED_LOCK(&pool->lock);
    memory_pool_trim(pool, keep); // without waiting for work, as on an H100
    return CUDA_SUCCESS;
}

// Sets an attribute. High-water marks can only be reset to the present value, by writing 0. Called
// under the lock.
static CUresult set_attribute(struct memory_pool *pool, CUmemPool_attribute attribute,
                              const void *value)
{
    uint64_t number;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->reuse[attribute - 1] = *(const int *)value != 0;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        memcpy(&pool->threshold, value, sizeof(pool->threshold));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        memcpy(&number, value, sizeof(number));
        SIM_RETURN_IF(number, CUDA_ERROR_INVALID_VALUE);
        if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
            pool->reserved_high = pool->reserved;
        else
            pool->used_high = pool->used;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_attribute(const struct memory_pool *pool, CUmemPool_attribute attribute,
                              void *value)
{
    const uint64_t *number = NULL, in_use = pool->used - pool->leaving;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = pool->reuse[attribute - 1];
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: number = &pool->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: number = &pool->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: number = &pool->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: number = &in_use; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: number = &pool->used_high; break;
    }
    SIM_RETURN_IF(!number, CUDA_ERROR_INVALID_VALUE);
    memcpy(value, number, sizeof(*number));
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolSetAttribute, CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    SCOPED_OBJECT struct memory_pool *pool = NULL;
    SIM_TRY(own_pool_get(handle, &pool));
    SCOPED_LOCK(&pool->lock);
    return value ? set_attribute(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuMemPoolGetAttribute, CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    SCOPED_OBJECT struct memory_pool *pool = NULL;
    SIM_TRY(own_pool_get(handle, &pool));
    SCOPED_LOCK(&pool->lock);
    return value ? get_attribute(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_access(struct memory_pool *pool, const CUmemAccessDesc *access)
{
    struct device *device;
    SIM_RETURN_IF(access->location.type != CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    SIM_TRY(device_get(access->location.id, &device));
    SIM_RETURN_IF(access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
                      access->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
                      access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(device == pool->device && access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                  CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&pool->lock);
    pool->access[device->index] = access->flags;
    return CUDA_SUCCESS;
}

SIM_API(cuMemPoolSetAccess, CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    SCOPED_OBJECT struct memory_pool *pool = NULL;
    SIM_TRY(pool_get(handle, &pool));
    CUresult result = map || !count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !result && i < count; i++)
        result = set_access(pool, &map[i]);
    return result;
}

SIM_API(cuMemPoolGetAccess, CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    SCOPED_OBJECT struct memory_pool *pool = NULL;
    struct device *device;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(device_get(location->id, &device));
    SIM_TRY(pool_get(handle, &pool));
    SCOPED_LOCK(&pool->lock);
    *flags = pool->access[device->index];
    return CUDA_SUCCESS;
}
