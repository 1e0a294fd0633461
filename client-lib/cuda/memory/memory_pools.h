// SPDX-License-Identifier: BSD-3-Clause
// Memory pools of devices, for stream-ordered allocations. Each function does what the driver's
// call does (cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, ...). Devices are in the program's
// numbering.
#ifndef RGPU_CLIENT_MEMORY_POOLS_H
#define RGPU_CLIENT_MEMORY_POOLS_H

#include "client-lib/cuda/session/box_session.h"

// Query a device's default pool, or its current one; set the current one.
CUresult pool_default(CUdevice dev, CUmemoryPool *pool);
CUresult pool_current(CUdevice dev, CUmemoryPool *pool);
CUresult pool_set_current(CUdevice dev, CUmemoryPool pool);

// Create a pool, and destroy one.
CUresult pool_create(const CUmemPoolProps *properties, CUmemoryPool *pool);
CUresult pool_destroy(CUmemoryPool pool);

#endif
