// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory management.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/memory/physical_memory.h"
#include "client-lib/cuda/memory/virtual_memory.h"

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags)
{
    return ptr && !flags ? virtual_reserve(ptr, size, alignment, addr) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    return virtual_unreserve(ptr, size);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    return granularity && prop ? physical_granularity(prop, option, granularity)
                               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    return handle && prop && size && !flags ? physical_create(handle, size, prop)
                                            : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    return physical_release(handle);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle)
{
    return prop ? physical_properties(handle, prop) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    return handle ? virtual_retain((uintptr_t)addr, handle) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    // The driver supports no offset into the memory.
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    return offset ? CUDA_ERROR_NOT_SUPPORTED : virtual_map(ptr, size, handle);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    return virtual_unmap(ptr, size);
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    return virtual_open(ptr, size, desc, count);
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    return flags && location ? virtual_opened(ptr, location, flags) : CUDA_ERROR_INVALID_VALUE;
}
