// SPDX-License-Identifier: BSD-3-Clause
// Memory pools: each device's default and current one, and pools that the program makes.
#include "client-lib/objects/memory_pools.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/objects/contexts.h"
#include "client-lib/objects/thread.h"
#include "client-lib/session/process.h"
#include "client_calls.h"
#include "common/scope.h"

struct device_pools {
    CUmemoryPool standard; // the device's default; NULL until it is asked for
    CUmemoryPool current;  // NULL: the default
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device_pools *pools; // one per device

static CUresult find(CUdevice dev, struct device_pools **found)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!session_of_device(dev))
        return CUDA_ERROR_INVALID_VALUE; // so says the driver of pools, and of them only
    if (!pools)
        pools = calloc(DEVICES_MAX, sizeof(*pools));
    *found = pools ? &pools[dev] : NULL;
    return pools ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult standard_pool(CUdevice dev, struct device_pools **found)
{
    CUresult result = find(dev, found);
    if (result == CUDA_SUCCESS && !(*found)->standard)
        result = remote_cuDeviceGetDefaultMemPool(&(*found)->standard, dev);
    return result;
}

CUresult pool_default(CUdevice dev, CUmemoryPool *pool)
{
    struct device_pools *found;
    SCOPED_LOCK(&lock);
    CUresult result = standard_pool(dev, &found);
    if (result == CUDA_ERROR_INVALID_VALUE) // of its default pool it says it as of everything else
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
    CUresult result = find(dev, &found);
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
    // The box counts its own devices, and the pool belongs to a context of that box.
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

static void forget(CUmemoryPool pool)
{
    SCOPED_LOCK(&lock);
    for (CUdevice i = 0; pools && i < DEVICES_MAX; i++)
        if (pools[i].current == pool)
            pools[i].current = NULL;
}

CUresult pool_destroy(CUmemoryPool pool)
{
    forget(pool);
    return remote_cuMemPoolDestroy(pool);
}
