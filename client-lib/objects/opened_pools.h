// SPDX-License-Identifier: BSD-3-Clause
// Pools whose allocations processes of one box share. A pool travels as the descriptor of a file that holds a token, and
// what stands for an allocation of it is a token itself.
#ifndef RGPU_CLIENT_OPENED_POOLS_H
#define RGPU_CLIENT_OPENED_POOLS_H

#include "proto/cuda_abi.h"

CUresult pool_export(CUmemoryPool pool, int *fd);
// The same pool for the same token, until it is destroyed.
CUresult pool_import(int fd, CUmemoryPool *pool);
CUresult pooled_share(CUdeviceptr address, CUmemPoolPtrExportData *token);
// It is freed as an allocation of one's own.
CUresult pooled_open(CUmemoryPool pool, const CUmemPoolPtrExportData *token, CUdeviceptr *address);

#endif
