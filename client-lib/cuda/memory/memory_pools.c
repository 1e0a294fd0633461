// SPDX-License-Identifier: BSD-3-Clause
// Memory pools: each device's default and current pool, and pools that the program makes.
#include "client-lib/cuda/memory/memory_pools.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"
#include "common/base/scope.h"

struct device_pools {
    CUmemoryPool standard; // the device's default; NULL until the first query
    CUmemoryPool current;  // NULL: the default
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device_pools *pools; // one per device

static CUresult memory_pools_find(CUdevice dev, struct device_pools **found)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!session_of_device(dev))
        return CUDA_ERROR_INVALID_VALUE; // the driver returns this for pools, and only for them
    if (!pools)
        pools = calloc(DEVICES_MAX, sizeof(*pools));
    *found = pools ? &pools[dev] : NULL;
    return pools ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult standard_pool(CUdevice dev, struct device_pools **found)
{
    CUresult result = memory_pools_find(dev, found);
    if (result == CUDA_SUCCESS && !(*found)->standard)
        result = remote_cuDeviceGetDefaultMemPool(&(*found)->standard, dev);
    return result;
}

CUresult pool_default(CUdevice dev, CUmemoryPool *pool)
{
    struct device_pools *found;
    SCOPED_LOCK(&lock);
    CUresult result = standard_pool(dev, &found);
    if (result == CUDA_ERROR_INVALID_VALUE) // the driver's error for the default pool
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *pool = found->standard;
    return result;
}

CUresult pool_current(CUdevice dev, CUmemoryPool *pool)
{
    struct device_pools *found;
    SCOPED_LOCK(&lock);
    CUresult result = standard_pool(dev, &found);
    if (result == CUDA_SUCCESS)
        *pool = found->current ? found->current : found->standard;
    return result;
}

CUresult pool_set_current(CUdevice dev, CUmemoryPool pool)
{
    struct device_pools *found;
    SCOPED_LOCK(&lock);
    CUresult result = memory_pools_find(dev, &found);
    if (result == CUDA_SUCCESS)
        result = remote_cuDeviceSetMemPool(dev, pool);
    if (result == CUDA_SUCCESS)
        found->current = pool;
    return result;
}

CUresult pool_create(const CUmemPoolProps *properties, CUmemoryPool *pool)
{
    CUdevice dev = properties->location.id;
    struct box_session *session = session_of_device(dev);
    if (!session)
        return CUDA_ERROR_INVALID_DEVICE;
    // The box numbers its own devices, and the pool belongs to a context of that box.
    CUmemPoolProps theirs = *properties;
    theirs.location.id = box_device_number(dev);
    CUcontext context;
    CUresult result = primary_retain(dev, &context);
    if (result != CUDA_SUCCESS)
        return result;
    result = thread_push_context(context);
    if (result == CUDA_SUCCESS) {
        result = remote_cuMemPoolCreate(pool, &theirs);
        thread_pop_context(NULL);
    }
    primary_drop(dev, false);
    return result;
}

static void memory_pools_forget(CUmemoryPool pool)
{
    SCOPED_LOCK(&lock);
    for (CUdevice i = 0; pools && i < DEVICES_MAX; i++)
        if (pools[i].current == pool)
            pools[i].current = NULL;
}

CUresult pool_destroy(CUmemoryPool pool)
{
    memory_pools_forget(pool);
    return remote_cuMemPoolDestroy(pool);
}
