// Memory pools: each device's default and current one, and pools that the program makes.
#include <pthread.h>
#include <stdlib.h>

#include "client-lib/exports.h"
#include "client-lib/object.h"
#include "client-lib/process.h"
#include "client-lib/session.h"

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
        return CUDA_ERROR_INVALID_DEVICE;
    if (!pools)
        pools = calloc((size_t)session_device_count, sizeof(*pools));
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

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    struct device_pools *found;
    if (!pool_out)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    CUresult result = standard_pool(dev, &found);
    if (result == CUDA_SUCCESS)
        *pool_out = found->standard;
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    struct device_pools *found;
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    CUresult result = standard_pool(dev, &found);
    if (result == CUDA_SUCCESS)
        *pool = found->current ? found->current : found->standard;
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct device_pools *found;
    pthread_mutex_lock(&lock);
    CUresult result = find(dev, &found);
    if (result == CUDA_SUCCESS)
        result = remote_cuDeviceSetMemPool(dev, pool);
    if (result == CUDA_SUCCESS)
        found->current = pool;
    pthread_mutex_unlock(&lock);
    return result;
}

static CUresult location_device(const CUmemLocation *location, CUmemAllocationType type,
                                CUdevice *dev)
{
    if (!location)
        return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_NOT_SUPPORTED;
    *dev = location->id;
    return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                CUmemAllocationType type)
{
    CUdevice dev;
    CUresult result = location_device(location, type, &dev);
    return result == CUDA_SUCCESS ? cuDeviceGetDefaultMemPool(pool_out, dev) : result;
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    CUdevice dev;
    CUresult result = location_device(location, type, &dev);
    return result == CUDA_SUCCESS ? cuDeviceGetMemPool(pool, dev) : result;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    if (!pool || !poolProps)
        return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct session *session = session_of_device(poolProps->location.id);
    if (!session)
        return CUDA_ERROR_INVALID_DEVICE;
    // The box counts its own devices, and the pool belongs to a context of that box.
    CUmemPoolProps theirs = *poolProps;
    theirs.location.id -= session->first_device;
    CUcontext context;
    CUresult result = cuDevicePrimaryCtxRetain(&context, poolProps->location.id);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuCtxPushCurrent_v2(context);
    if (result == CUDA_SUCCESS) {
        result = remote_cuMemPoolCreate(pool, &theirs);
        cuCtxPopCurrent_v2(NULL);
    }
    cuDevicePrimaryCtxRelease_v2(poolProps->location.id);
    return result;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    pthread_mutex_lock(&lock);
    for (CUdevice i = 0; pools && i < session_device_count; i++)
        if (pools[i].current == pool)
            pools[i].current = NULL;
    pthread_mutex_unlock(&lock);
    return remote_cuMemPoolDestroy(pool);
}
