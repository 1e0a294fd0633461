// SPDX-License-Identifier: BSD-3-Clause
// Memory pools.
#ifndef RGPU_CLIENT_MEMORY_POOLS_H
#define RGPU_CLIENT_MEMORY_POOLS_H

#include "client-lib/cuda/session/box_session.h"

// Queries of a device's default pool, and of its current one.
CUresult pool_default(CUdevice dev, CUmemoryPool *pool);
CUresult pool_current(CUdevice dev, CUmemoryPool *pool);
CUresult pool_set_current(CUdevice dev, CUmemoryPool pool);

CUresult pool_create(const CUmemPoolProps *properties, CUmemoryPool *pool);
CUresult pool_destroy(CUmemoryPool pool);

#endif
