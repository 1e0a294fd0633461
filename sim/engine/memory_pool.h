// SPDX-License-Identifier: BSD-3-Clause
// Implements memory pools. A pool keeps the memory that it has charged to the device until it is
// trimmed below its release threshold.
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "sim/engine/device.h"

struct memory_pool;

struct device *pool_device(const struct memory_pool *pool);

// Takes bytes from the pool, which charges the device for bytes that it lacks. Returns
// OUT_OF_MEMORY.
CUresult pool_charge(struct memory_pool *pool, size_t bytes);
void pool_uncharge(struct memory_pool *pool, size_t bytes);
// Stops counting freed bytes as used. As with an H100's driver, they stay reserved until their
// stream has passed the free.
void pool_note_leaving(struct memory_pool *pool, int64_t bytes);

// Returns true if kernels on a device may access the pool's memory.
bool pool_is_open_to(struct memory_pool *pool, const struct device *device);

// Returns unused memory of the device's pools to the device. Returns true if there was any.
bool pool_trim_device(struct device *device);

// Returns the pool that cuMemAllocAsync uses. The result is borrowed.
CUresult device_current_pool(struct device *device, struct memory_pool **out);

// Looks up a pool and adds a use, which pool_put drops. Returns INVALID_VALUE.
CUresult pool_get(CUmemoryPool handle, struct memory_pool **out);
void pool_put(struct memory_pool *pool);

// Returns the id of a pool among processes, or 0 if it is not exportable or was imported.
uint64_t pool_shared_id(const struct memory_pool *pool);
// Returns the id of an imported pool, or 0 if the pool belongs to this process.
uint64_t pool_imported_id(const struct memory_pool *pool);
// Returns the pool of that id and creates it if needed. It has imported memory only, and no
// attributes.
CUresult pool_adopt(struct device *device, uint64_t id, CUmemoryPool *out);

// Returns the handle under which programs know a pool.
CUmemoryPool pool_handle(const struct memory_pool *pool);

#endif
