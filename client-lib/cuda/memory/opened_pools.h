// SPDX-License-Identifier: BSD-3-Clause
// Pools whose allocations processes of one box share. A pool is passed as a descriptor of a file
// that holds a token, and an allocation of it as a token.
#ifndef RGPU_CLIENT_OPENED_POOLS_H
#define RGPU_CLIENT_OPENED_POOLS_H

#include "proto/cuda_abi.h"

CUresult pool_export(CUmemoryPool pool, int *fd);
// Returns the same pool for the same token, until the pool is destroyed.
CUresult pool_import(int fd, CUmemoryPool *pool);
CUresult pooled_share(CUdeviceptr address, CUmemPoolPtrExportData *token);
// The memory is freed like the program's own allocations.
CUresult pooled_open(CUmemoryPool pool, const CUmemPoolPtrExportData *token, CUdeviceptr *address);

#endif
