// SPDX-License-Identifier: BSD-3-Clause
// Shares memory pools between processes on one box. The programs pass a pool to each other as a
// descriptor of a file that holds a token, and an allocation of that pool as a token.
#ifndef RGPU_CLIENT_OPENED_POOLS_H
#define RGPU_CLIENT_OPENED_POOLS_H

#include "proto/cuda_abi.h"

// Exports POOL. The program owns *FD and closes it.
CUresult pool_export(CUmemoryPool pool, int *fd);
// Imports the pool of the file FD, which stays open. Until that pool is destroyed, each import of
// the same file returns the same pool.
CUresult pool_import(int fd, CUmemoryPool *pool);
// Returns the token of the allocation at ADDRESS.
CUresult pooled_share(CUdeviceptr address, CUmemPoolPtrExportData *token);
// Opens the allocation of TOKEN, which belongs to the imported POOL. The program frees it like its
// own allocations.
CUresult pooled_open(CUmemoryPool pool, const CUmemPoolPtrExportData *token, CUdeviceptr *address);

#endif
