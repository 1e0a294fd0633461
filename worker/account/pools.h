// SPDX-License-Identifier: BSD-3-Clause
// What memory pools hold of a budget. Any thread may call.
#ifndef RGPU_WORKER_POOLS_H
#define RGPU_WORKER_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct pool_account;

// The account of a pool, whose memory is DEVICE's; NULL: no memory, or nothing is counted there.
struct pool_account *pool_account(CUmemoryPool pool, int device);
// Counts the memory that an allocation of SIZE makes the pool take, around the driver's call: a failure
// of `allocate` is given back to the caller, as is OUT_OF_MEMORY for what the budget does not allow.
CUresult pool_allocate(struct pool_account *account, uint64_t size, CUstream stream,
                       CUdeviceptr *address);
// Returns true if SIZE fits once the GPU has passed what has been freed in the pool.
bool pool_may_find(const struct pool_account *account, uint64_t size);
// An allocation of SIZE is freed, or will be when its stream comes to that.
void pool_note_free(struct pool_account *account, uint64_t size);
// The program destroys the pool. The driver does so when its last allocation is free, which a stream may still have to
// come to. False: it has no account, and is the caller's to destroy.
bool pool_end(CUmemoryPool pool);
// A device's primary context has been reset, and its pools' memory has gone.
void pools_forget_device(int device);
// Finds out what pools have given back; called when work of the GPU is complete.
void pools_settle(void);
bool pools_have_slack(void); // whether that would find anything
// Has the device's pools give back all that they do not use; false: that was nothing.
bool pools_reclaim(int device);

#endif
