// SPDX-License-Identifier: BSD-3-Clause
// Device memory.
#ifndef RGPU_CLIENT_DEVICE_MEMORY_H
#define RGPU_CLIENT_DEVICE_MEMORY_H

#include <stddef.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"
#include "proto/cuda_abi.h"

CUresult device_memory_allocate(CUdeviceptr *dptr, size_t size);
// The same in whole pages, which are not in the address book: the caller enters the parts that it
// gives to the program.
CUresult device_memory_take_pages(size_t size, struct allocation *pages);
CUresult device_memory_give_pages(const struct allocation *pages);
// Allocates HEIGHT rows of WIDTH bytes. *PITCH: bytes from one row to the next.
CUresult device_memory_allocate_rows(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height,
                                     unsigned int element);
// Allocates in the order of a stream. POOL: NULL for the device's current pool.
CUresult device_memory_allocate_async(CUdeviceptr *dptr, size_t size, CUmemoryPool pool,
                                      CUstream stream);
// Enters memory that a graph allocates, on DEVICE in the program's numbering.
CUresult device_memory_of_graph(CUdeviceptr dptr, size_t size, struct box_session *session,
                                CUdevice device, const struct object *context);
CUresult device_memory_free(CUdeviceptr dptr);
CUresult device_memory_free_async(CUdeviceptr dptr, CUstream stream);

#endif
