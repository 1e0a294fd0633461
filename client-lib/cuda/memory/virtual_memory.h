// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory: address ranges that the program reserves on a box, and the memory that it maps
// there. Calls that do not wait for the box check their arguments here, so that only a lack of
// memory is reported late.
#ifndef RGPU_CLIENT_VIRTUAL_MEMORY_H
#define RGPU_CLIENT_VIRTUAL_MEMORY_H

#include <stddef.h>

#include "proto/cuda_abi.h"

CUresult virtual_reserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wanted);
CUresult virtual_unreserve(CUdeviceptr address, size_t size);

CUresult virtual_map(CUdeviceptr address, size_t size, CUmemGenericAllocationHandle handle);
// Unmaps the mappings of a range, which must hold each of them as a whole; so must that of
// virtual_open.
CUresult virtual_unmap(CUdeviceptr address, size_t size);
// Sets which devices may access the mappings.
CUresult virtual_open(CUdeviceptr address, size_t size, const CUmemAccessDesc *list, size_t count);
CUresult virtual_opened(CUdeviceptr address, const CUmemLocation *location,
                        unsigned long long *flags);
// Returns a handle of the memory that is mapped at ADDRESS, with one reference more.
CUresult virtual_retain(CUdeviceptr address, CUmemGenericAllocationHandle *handle);

#endif
