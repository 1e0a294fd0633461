// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory: address ranges that the program reserves on a box, and the physical memory
// (physical_memory.h) that it maps there. Functions that do not wait for the box check their
// arguments in this process, so a later call reports only a lack of memory. Any thread may call.
#ifndef RGPU_CLIENT_VIRTUAL_MEMORY_H
#define RGPU_CLIENT_VIRTUAL_MEMORY_H

#include <stddef.h>

#include "proto/cuda_abi.h"

// Reserves SIZE bytes of addresses, at WANTED if possible (0: anywhere).
CUresult virtual_reserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wanted);
// Ends a whole reservation. Returns CUDA_ERROR_INVALID_VALUE if a mapping is left in it.
CUresult virtual_unreserve(CUdeviceptr address, size_t size);

// Maps the memory of HANDLE at a reserved range. The mapping keeps the memory until virtual_unmap.
CUresult virtual_map(CUdeviceptr address, size_t size, CUmemGenericAllocationHandle handle);
// Removes all mappings in a range. The range must contain each of them completely.
CUresult virtual_unmap(CUdeviceptr address, size_t size);
// Sets the access rights of COUNT devices to all mappings in a range, which must contain each of
// them completely.
CUresult virtual_open(CUdeviceptr address, size_t size, const CUmemAccessDesc *list, size_t count);
// Returns the access rights of LOCATION to the mapping at ADDRESS (CUmemAccess_flags).
CUresult virtual_opened(CUdeviceptr address, const CUmemLocation *location,
                        unsigned long long *flags);
// Returns the handle of the memory that is mapped at ADDRESS. The program gets one more reference,
// which it releases with physical_release.
CUresult virtual_retain(CUdeviceptr address, CUmemGenericAllocationHandle *handle);

#endif
