// SPDX-License-Identifier: BSD-3-Clause
// Physical memory of a box's device, which the program maps to addresses. It lives as long as the
// program holds its handle or maps it.
#ifndef RGPU_CLIENT_PHYSICAL_MEMORY_H
#define RGPU_CLIENT_PHYSICAL_MEMORY_H

#include <stddef.h>

#include "client-lib/cuda/objects/object.h"

CUresult physical_granularity(const CUmemAllocationProp *properties,
                              CUmemAllocationGranularity_flags option, size_t *granularity);
CUresult physical_create(CUmemGenericAllocationHandle *handle, size_t size,
                         const CUmemAllocationProp *properties);
// Describes memory that the box has just made or imported under that handle.
void physical_adopt(CUmemGenericAllocationHandle handle, CUdevice device, size_t size,
                    size_t granularity, const CUmemAllocationProp *properties);
CUresult physical_release(CUmemGenericAllocationHandle handle);
// Adds a use of the handle, which mappings keep alive after the program has released it.
CUresult physical_retain(CUmemGenericAllocationHandle handle);
CUresult physical_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp *properties);
unsigned int physical_handle_types(CUmemGenericAllocationHandle handle);

// Adds a mapping. INVALID_VALUE: the program does not hold the memory.
CUresult physical_map(CUmemGenericAllocationHandle handle, struct object **memory);
void physical_unmap(CUmemGenericAllocationHandle handle);

// Finds the device of a location, in its box's numbering. NOT_SUPPORTED: it is not a device's
// memory.
CUresult place_on_box(const CUmemLocation *location, struct box_session **session, int *number);

#endif
