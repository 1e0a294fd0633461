// SPDX-License-Identifier: BSD-3-Clause
// The stream-ordered allocator: memory in the order of a stream, and the pools that it comes from.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/memory/device_memory.h"
#include "client-lib/cuda/memory/memory_pools.h"
#include "client-lib/cuda/memory/opened_pools.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/session/process.h"

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return device_memory_allocate_async(dptr, bytesize, NULL, hStream);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return device_memory_allocate_async(dptr, bytesize, NULL, stream_per_thread(hStream));
}

static CUresult from_pool(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream stream)
{
    return pool ? device_memory_allocate_async(dptr, bytesize, pool, stream)
                : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream)
{
    return from_pool(dptr, bytesize, pool, hStream);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream)
{
    return from_pool(dptr, bytesize, pool, stream_per_thread(hStream));
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    return device_memory_free_async(dptr, hStream);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    return device_memory_free_async(dptr, stream_per_thread(hStream));
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    return pool_out ? pool_default(dev, pool_out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    return pool ? pool_current(dev, pool) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    return pool_set_current(dev, pool);
}

static CUresult cu_pool_check_location(const CUmemLocation *location, CUmemAllocationType type)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!location ||
        (location->type == CU_MEM_LOCATION_TYPE_INVALID &&
         type != CU_MEM_ALLOCATION_TYPE_MANAGED) ||
        location->type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ||
        type < CU_MEM_ALLOCATION_TYPE_PINNED || type > CU_MEM_ALLOCATION_TYPE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    return location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED
               ? CUDA_ERROR_NOT_SUPPORTED
               : CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                CUmemAllocationType type)
{
    CUresult result = cu_pool_check_location(location, type);
    if (result == CUDA_SUCCESS && !pool_out)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? pool_default(location->id, pool_out) : result;
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = cu_pool_check_location(location, type);
    if (result == CUDA_SUCCESS && !pool)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? pool_current(location->id, pool) : result;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUresult result = cu_pool_check_location(location, type);
    return result == CUDA_SUCCESS ? pool_set_current(location->id, pool) : result;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!pool || !poolProps)
        return CUDA_ERROR_INVALID_VALUE;
    // Such pools need devices that use managed memory at the same time as the host. Remote devices
    // report that they do not.
    if (poolProps->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED)
        return poolProps->handleTypes || poolProps->maxSize ? CUDA_ERROR_INVALID_VALUE
                                                            : CUDA_ERROR_NOT_SUPPORTED;
    if (poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        poolProps->location.type <= CU_MEM_LOCATION_TYPE_INVALID ||
        poolProps->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->handleTypes &
        ~(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC))
        return CUDA_ERROR_INVALID_VALUE;
    // Descriptors are the only handles that can be passed to other processes of the box.
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        poolProps->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    return pool_create(poolProps, pool);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    return pool_destroy(pool);
}

CUresult cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType,
                                          unsigned long long flags)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    return handle_out && pool && !flags && handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
               ? pool_export(pool, handle_out)
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                            CUmemAllocationHandleType handleType,
                                            unsigned long long flags)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!pool_out || !handle || flags)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)handleType) {
    case CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return pool_import((int)(intptr_t)handle, pool_out);
    case CU_MEM_HANDLE_TYPE_WIN32:
    case CU_MEM_HANDLE_TYPE_FABRIC: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    return shareData_out ? pooled_share(ptr, shareData_out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData *shareData)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    return ptr_out && pool && shareData ? pooled_open(pool, shareData, ptr_out)
                                        : CUDA_ERROR_INVALID_VALUE;
}
