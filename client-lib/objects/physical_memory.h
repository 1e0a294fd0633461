// SPDX-License-Identifier: BSD-3-Clause
// Physical memory of a box's device, which the program maps to have addresses for it. It lives as long as the
// program holds its handle or has it mapped.
#ifndef RGPU_CLIENT_PHYSICAL_MEMORY_H
#define RGPU_CLIENT_PHYSICAL_MEMORY_H

#include <stddef.h>

#include "client-lib/objects/object.h"

CUresult physical_granularity(const CUmemAllocationProp *properties,
                              CUmemAllocationGranularity_flags option, size_t *granularity);
CUresult physical_create(CUmemGenericAllocationHandle *handle, size_t size,
                         const CUmemAllocationProp *properties);
// Describes what the box has just made, or imported, under that handle.
void physical_adopt(CUmemGenericAllocationHandle handle, CUdevice device, size_t size,
                    size_t granularity, const CUmemAllocationProp *properties);
CUresult physical_release(CUmemGenericAllocationHandle handle);
// One more use of the handle, which its mappings have kept alive.
CUresult physical_retain(CUmemGenericAllocationHandle handle);
CUresult physical_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp *properties);
unsigned int physical_handle_types(CUmemGenericAllocationHandle handle);

// One more mapping of it. INVALID_VALUE: the program does not hold it.
CUresult physical_map(CUmemGenericAllocationHandle handle, struct object **memory);
void physical_unmap(CUmemGenericAllocationHandle handle);

// Device of a place as its box counts it. NOT_SUPPORTED: it is not a device's memory.
CUresult place_on_box(const CUmemLocation *location, struct box_session **session, int *number);

#endif
