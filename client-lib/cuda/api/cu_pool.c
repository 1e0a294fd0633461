// SPDX-License-Identifier: BSD-3-Clause
// The stream-ordered allocator: memory in the order of a stream, and the pools that it comes from.
#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/memory/memory_pools.h"
#include "client-lib/cuda/memory/opened_pools.h"
#include "client-lib/cuda/session/process.h"

CUresult pool_check_location(const CUmemLocation *location, CUmemAllocationType type)
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
