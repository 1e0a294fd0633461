// SPDX-License-Identifier: BSD-3-Clause
// Device memory at addresses that the client chooses. The library uses such memory instead of
// ordinary device memory if the box's driver returns addresses at which the program has memory of
// its own. The memory is physical memory mapped at reserved addresses. Therefore its size is a
// whole number of GPU pages (2 MiB), and the program cannot export it to other processes. Any
// thread may call.
#ifndef RGPU_CLIENT_CHOSEN_ADDRESSES_H
#define RGPU_CLIENT_CHOSEN_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Allocates at least SIZE bytes on DEVICE (the program's number). *DPTR is freed by chosen_free.
CUresult chosen_allocate(CUdevice device, size_t size, CUdeviceptr *dptr);
// Waits until the GPU has completed its work, frees the memory at DPTR and stores the result.
// Returns false, without an effect, if chosen_allocate did not return DPTR or the memory is free.
bool chosen_free(CUdeviceptr dptr, CUresult *result);
// The same in the order of STREAM: returns at once, and the memory is freed soon after the stream
// has come to it.
bool chosen_free_in(CUdeviceptr dptr, CUstream stream, CUresult *result);

#endif
