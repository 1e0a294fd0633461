// SPDX-License-Identifier: BSD-3-Clause
// Memory pools. A pool keeps what it has charged to the device until it is trimmed below its
// release threshold.
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "sim/device.h"

struct memory_pool;

struct device *pool_device(const struct memory_pool *pool);

// Takes bytes from the pool, which takes from the device what it has not: OUT_OF_MEMORY.
CUresult pool_charge(struct memory_pool *pool, size_t bytes);
void pool_uncharge(struct memory_pool *pool, size_t bytes);
// As an H100's driver: what has been freed is not in use, though it stays reserved until its stream has passed the free.
void pool_note_leaving(struct memory_pool *pool, int64_t bytes);

// Whether kernels on a device may touch the pool's memory.
bool pool_is_open_to(struct memory_pool *pool, const struct device *device);

// Gives the device back what its pools keep unused; whether that was anything.
bool pool_trim_device(struct device *device);

// The pool that cuMemAllocAsync uses; borrowed.
CUresult device_current_pool(struct device *device, struct memory_pool **out);

// Takes a use of a pool that the program names: INVALID_VALUE.
CUresult pool_get(CUmemoryPool handle, struct memory_pool **out);
void pool_put(struct memory_pool *pool);

// What a pool is known by among processes; 0: it is not for others, or is another process's itself.
uint64_t pool_shared_id(const struct memory_pool *pool);
// The id of a pool of another process, 0: it is our own.
uint64_t pool_imported_id(const struct memory_pool *pool);
// The pool of that id, made where there is none yet. It has no memory but what is imported, and no attributes.
CUresult pool_adopt(struct device *device, uint64_t id, CUmemoryPool *out);

// The handle under which programs know a pool.
CUmemoryPool pool_handle(const struct memory_pool *pool);

#endif
