// SPDX-License-Identifier: BSD-3-Clause
// Memory pools.
#ifndef RGPU_CLIENT_MEMORY_POOLS_H
#define RGPU_CLIENT_MEMORY_POOLS_H

#include "client-lib/session/box_session.h"

// A device's default pool, and the one that it allocates from.
CUresult pool_default(CUdevice dev, CUmemoryPool *pool);
CUresult pool_current(CUdevice dev, CUmemoryPool *pool);
CUresult pool_set_current(CUdevice dev, CUmemoryPool pool);

CUresult pool_create(const CUmemPoolProps *properties, CUmemoryPool *pool);
CUresult pool_destroy(CUmemoryPool pool);

#endif
