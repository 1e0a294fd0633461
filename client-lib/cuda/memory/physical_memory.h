// SPDX-License-Identifier: BSD-3-Clause
// Physical memory of a box's device, which the program maps to addresses. The memory exists while
// the program holds a reference to its handle or a mapping exists. Any thread may call.
#ifndef RGPU_CLIENT_PHYSICAL_MEMORY_H
#define RGPU_CLIENT_PHYSICAL_MEMORY_H

#include <stddef.h>

#include "client-lib/cuda/objects/object.h"

// Queries the unit of sizes and addresses for memory with these PROPERTIES, in bytes.
CUresult physical_granularity(const CUmemAllocationProp *properties,
                              CUmemAllocationGranularity_flags option, size_t *granularity);
// Allocates SIZE bytes of memory. The program holds one reference to *HANDLE.
CUresult physical_create(CUmemGenericAllocationHandle *handle, size_t size,
                         const CUmemAllocationProp *properties);
// Fills in the object of HANDLE, a new handle for memory that the box has just allocated or
// imported. DEVICE is in the program's numbering, SIZE and GRANULARITY (0: 1) are in bytes,
// PROPERTIES are copied. The program then holds one reference to HANDLE.
void physical_adopt(CUmemGenericAllocationHandle handle, CUdevice device, size_t size,
                    size_t granularity, const CUmemAllocationProp *properties);
// Releases one of the program's references. After the last one, existing mappings still keep the
// memory. Returns CUDA_ERROR_INVALID_VALUE if the program holds no reference.
CUresult physical_release(CUmemGenericAllocationHandle handle);
// Adds a reference of the program, which physical_release releases. While a mapping exists, this
// works even if the program has released its last reference. Returns CUDA_ERROR_INVALID_VALUE if
// the memory no longer exists.
CUresult physical_retain(CUmemGenericAllocationHandle handle);
// Returns the properties with which the memory was allocated. Returns CUDA_ERROR_INVALID_VALUE if
// the program holds no reference.
CUresult physical_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp *properties);
// Returns the kinds of handles to which the memory can be exported (CUmemAllocationHandleType
// bits); 0 if the handle is unknown.
unsigned int physical_handle_types(CUmemGenericAllocationHandle handle);

// Counts a new mapping of the memory, which physical_unmap ends; the caller makes the mapping
// itself. *MEMORY is the handle's object, valid until then. Returns CUDA_ERROR_INVALID_VALUE if the
// program holds no reference.
CUresult physical_map(CUmemGenericAllocationHandle handle, struct object **memory);
void physical_unmap(CUmemGenericAllocationHandle handle);

// Converts LOCATION, a device in the program's numbering, to its session and the box's *NUMBER.
// Returns CUDA_ERROR_NOT_SUPPORTED if LOCATION is host memory, CUDA_ERROR_INVALID_DEVICE if there
// is no such device.
CUresult place_on_box(const CUmemLocation *location, struct box_session **session, int *number);

#endif
