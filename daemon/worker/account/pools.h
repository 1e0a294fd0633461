// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory of memory pools against the budget. Thread-safe.
#ifndef RGPU_WORKER_POOLS_H
#define RGPU_WORKER_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct pool_account;

// Returns the account of a pool on DEVICE; NULL if memory is exhausted, or if the session has no
// budget there.
struct pool_account *pool_account(CUmemoryPool pool, int device);
// Allocates SIZE bytes from the pool and counts the memory that the pool takes for them. Returns
// OUT_OF_MEMORY if it exceeds the budget, or an error of the driver.
CUresult pool_allocate(struct pool_account *account, uint64_t size, CUstream stream,
                       CUdeviceptr *address);
// Returns true if SIZE bytes will fit when the GPU has reached the pending frees of the pool.
bool pool_may_find(const struct pool_account *account, uint64_t size);
// Records the free of SIZE bytes, now or when a stream reaches it.
void pool_note_free(struct pool_account *account, uint64_t size);
// Handles the destruction of a pool by the program. The driver destroys it with its last
// allocation, which may be freed later by a stream. Returns false if the pool has no account; the
// caller then destroys it.
bool pool_end(CUmemoryPool pool);
// Drops the pools of a device after a reset of its primary context.
void pools_forget_device(int device);
// Queries how much memory pools have released. Called when work of the GPU is complete.
void pools_settle(void);
bool pools_have_slack(void); // returns true if pools_settle() has something to do
// Makes the device's pools release unused memory. Returns false if there was none.
bool pools_reclaim(int device);

#endif
