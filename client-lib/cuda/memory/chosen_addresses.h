// SPDX-License-Identifier: BSD-3-Clause
// Device memory at addresses that the client chooses. It replaces ordinary device memory if the
// program has memory of its own at the addresses that the box's driver returns. It is physical
// memory, mapped at reserved addresses, so it takes whole pages of the GPU (2 MiB), and the program
// cannot export it to other processes. Any thread may call.
#ifndef RGPU_CLIENT_CHOSEN_ADDRESSES_H
#define RGPU_CLIENT_CHOSEN_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Allocates at least SIZE bytes on DEVICE, in the program's numbering.
CUresult chosen_allocate(CUdevice device, size_t size, CUdeviceptr *dptr);
// Returns true if chosen_allocate() returned DPTR and the memory is not freed.
bool chosen_is(CUdeviceptr dptr);
// Waits for the GPU's work and frees the memory.
CUresult chosen_free(CUdeviceptr dptr);

#endif
