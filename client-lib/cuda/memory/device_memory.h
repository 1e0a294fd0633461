// SPDX-License-Identifier: BSD-3-Clause
// Allocates device memory in the current context and enters it into the address book (addresses.h),
// unless a function says otherwise. Any thread may call.
#ifndef RGPU_CLIENT_DEVICE_MEMORY_H
#define RGPU_CLIENT_DEVICE_MEMORY_H

#include <stddef.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"
#include "proto/cuda_abi.h"

CUresult device_memory_allocate(CUdeviceptr *dptr, size_t size);
// Allocates at least SIZE bytes in whole pages, and describes them in *PAGES. They are not in the
// address book; the caller enters those parts that the program gets.
CUresult device_memory_take_pages(size_t size, struct allocation *pages);
// Frees pages of device_memory_take_pages with their mirror, or keeps both for the next pages of this
// size. The caller has removed them from the address book.
CUresult device_memory_give_pages(const struct allocation *pages);
// Allocates HEIGHT rows of WIDTH bytes, as cuMemAllocPitch does. *PITCH: bytes from one row to the
// next. ELEMENT: bytes of the elements that kernels will access.
CUresult device_memory_allocate_rows(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height,
                                     unsigned int element);
// Allocates in the order of STREAM, as cuMemAllocFromPoolAsync does. POOL: NULL for the device's
// current pool.
CUresult device_memory_allocate_async(CUdeviceptr *dptr, size_t size, CUmemoryPool pool,
                                      CUstream stream);
// Enters memory that a graph of SESSION allocates into the address book. DEVICE is in the program's
// numbering.
CUresult device_memory_of_graph(CUdeviceptr dptr, size_t size, struct box_session *session,
                                CUdevice device, const struct object *context);
// Free memory, after all work that may use it or in the order of STREAM.
CUresult device_memory_free(CUdeviceptr dptr);
CUresult device_memory_free_async(CUdeviceptr dptr, CUstream stream);

#endif
