// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory: ranges of addresses that the program reserves on a box, and what it maps there. Calls that do
// not wait are refused here where they are wrong, so that nothing but a want of memory is told late.
#ifndef RGPU_CLIENT_VIRTUAL_MEMORY_H
#define RGPU_CLIENT_VIRTUAL_MEMORY_H

#include <stddef.h>

#include "proto/cuda_abi.h"

CUresult virtual_reserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wanted);
CUresult virtual_unreserve(CUdeviceptr address, size_t size);

CUresult virtual_map(CUdeviceptr address, size_t size, CUmemGenericAllocationHandle handle);
// The mappings of a range, each of them as a whole; so does virtual_open.
CUresult virtual_unmap(CUdeviceptr address, size_t size);
// Who may use them.
CUresult virtual_open(CUdeviceptr address, size_t size, const CUmemAccessDesc *list, size_t count);
CUresult virtual_opened(CUdeviceptr address, const CUmemLocation *location,
                        unsigned long long *flags);
// What is mapped at ADDRESS, held once more.
CUresult virtual_retain(CUdeviceptr address, CUmemGenericAllocationHandle *handle);

#endif
