// SPDX-License-Identifier: BSD-3-Clause
// Managed memory: allocations that the program and GPUs use at the same addresses.
#ifndef RGPU_CLIENT_MANAGED_MEMORY_H
#define RGPU_CLIENT_MANAGED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

CUresult managed_allocate(CUdeviceptr *dptr, size_t size, unsigned int flags);
// Frees what is managed memory; false: DPTR is none that was allocated.
bool managed_free(CUdeviceptr dptr, CUresult *result);
// Says which work touches an allocation from now on: that of STREAM for CU_MEM_ATTACH_SINGLE.
CUresult managed_attach(CUstream stream, CUdeviceptr dptr, size_t length, unsigned int flags);

#endif
