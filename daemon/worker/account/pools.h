// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory that memory pools hold of a budget. Thread-safe.
#ifndef RGPU_WORKER_POOLS_H
#define RGPU_WORKER_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct pool_account;

// Returns the account of a pool, whose memory is on DEVICE; NULL: out of memory, or nothing is
// counted there.
struct pool_account *pool_account(CUmemoryPool pool, int device);
// Allocates SIZE from the pool and counts the memory that the pool takes for it. Returns a failure
// of the driver, or OUT_OF_MEMORY if the budget does not allow it.
CUresult pool_allocate(struct pool_account *account, uint64_t size, CUstream stream,
                       CUdeviceptr *address);
// Returns true if SIZE fits after the GPU has passed what has been freed in the pool.
bool pool_may_find(const struct pool_account *account, uint64_t size);
// Notes that an allocation of SIZE is freed, or will be when its stream reaches the free.
void pool_note_free(struct pool_account *account, uint64_t size);
// Handles the program's destruction of the pool. The driver destroys the pool when its last
// allocation is free, which may need a stream to reach the free. Returns false if the pool has no
// account; the caller then destroys it.
bool pool_end(CUmemoryPool pool);
// Drops the pools of a device whose primary context has been reset.
void pools_forget_device(int device);
// Queries what pools have given back; called when work of the GPU is complete.
void pools_settle(void);
bool pools_have_slack(void); // returns true if pools_settle() would find anything
// Makes the device's pools give back all that they do not use; returns false if that was nothing.
bool pools_reclaim(int device);

#endif
