// SPDX-License-Identifier: BSD-3-Clause
// Memory pools. A pool keeps freed bytes charged to the device, as far as its release threshold
// allows, until it is trimmed.
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "sim/engine/device.h"

struct memory_pool;

struct device *pool_device(const struct memory_pool *pool);

// Allocates bytes in the pool, which charges the device if it has too few. Returns OUT_OF_MEMORY.
CUresult pool_charge(struct memory_pool *pool, size_t bytes);
void pool_uncharge(struct memory_pool *pool, size_t bytes);
// Subtracts freed bytes from the used ones at the call of cuMemFreeAsync. They stay reserved until
// the stream executes the free, as with an H100's driver.
void pool_note_leaving(struct memory_pool *pool, int64_t bytes);

// Returns true if kernels on a device may access the pool's memory.
bool pool_is_open_to(struct memory_pool *pool, const struct device *device);

// Returns unused memory of the device's pools to the device. Returns true if there was any.
bool pool_trim_device(struct device *device);

// Returns the pool of cuMemAllocAsync. The result is borrowed.
CUresult device_current_pool(struct device *device, struct memory_pool **out);

// Returns the pool of a handle with a new reference; the caller calls pool_put. Returns
// INVALID_VALUE.
CUresult pool_get(CUmemoryPool handle, struct memory_pool **out);
void pool_put(struct memory_pool *pool);

// Returns the id of a pool for other processes, or 0 if the pool cannot be exported.
uint64_t pool_shared_id(const struct memory_pool *pool);
// Returns the id of an imported pool, or 0 if the pool belongs to this process.
uint64_t pool_imported_id(const struct memory_pool *pool);
// Returns the imported pool with that id; creates it if necessary. It has only imported memory.
CUresult pool_adopt(struct device *device, uint64_t id, CUmemoryPool *out);

CUmemoryPool pool_handle(const struct memory_pool *pool);

#endif
