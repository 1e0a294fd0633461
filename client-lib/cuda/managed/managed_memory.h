// SPDX-License-Identifier: BSD-3-Clause
// Allocates managed memory, which the program and GPUs use at the same addresses.
#ifndef RGPU_CLIENT_MANAGED_MEMORY_H
#define RGPU_CLIENT_MANAGED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda_abi.h"

// Allocates SIZE bytes in the current context. FLAGS are those of cuMemAllocManaged.
CUresult managed_allocate(CUdeviceptr *dptr, size_t size, unsigned int flags);
// Frees managed memory and sets *RESULT. Returns false if DPTR is not the start of a managed
// allocation.
bool managed_free(CUdeviceptr dptr, CUresult *result);
// Sets which work may access the allocation at DPTR, as cuStreamAttachMemAsync does: with
// CU_MEM_ATTACH_SINGLE only work of STREAM. LENGTH: bytes; 0 for the whole allocation.
CUresult managed_attach(CUstream stream, CUdeviceptr dptr, size_t length, unsigned int flags);

#endif
