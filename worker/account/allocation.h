// SPDX-License-Identifier: BSD-3-Clause
// The session's allocations (allocation.c).
#ifndef RGPU_WORKER_ALLOCATION_H
#define RGPU_WORKER_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/account/pools.h"
#include "worker_driver.h"

// The first two count against a budget; what is mapped was counted when it was made, and who
// made what is imported pays for it.
enum allocation_kind {
    ALLOCATION_DEVICE = 1,
    ALLOCATION_POOL,
    ALLOCATION_HOST,
    ALLOCATION_MAPPED,
    ALLOCATION_GRAPH,
    ALLOCATION_IMPORTED
};

int allocation_add(uint64_t address, uint64_t size, int device, CUcontext context,
                   enum allocation_kind kind);
// One of a pool that has an account, which counts it.
struct pool_account;
int allocation_add_pooled(uint64_t address, uint64_t size, int device, CUcontext context,
                          struct pool_account *account);
// One that graphs have at this address whenever they run. It is not counted, it stays when it is freed, and
// gives way to what the driver puts in its place later.
int allocation_add_of_graph(uint64_t address, uint64_t size);
bool allocation_remove(uint64_t address); // false: there is none that starts there
void allocation_forget(uint64_t address); // the same, and nothing is given back
// The allocation at ADDRESS is about to be freed: no call finds it from now on, and it counts until it is free. Returns
// false if there is none, or if it leaves already. One of these three follows.
bool allocation_leave(uint64_t address);
void allocation_stay(uint64_t address); // it could not be freed
void allocation_left(uint64_t address); // it is free
// It is free when the GPU has passed what STREAM of CONTEXT, the current one, has queued.
void allocation_left_behind(uint64_t address, CUcontext context, CUstream stream);
bool allocations_pass(void);   // returns true if the GPU has still to pass some
bool allocations_settle(void); // gives back what the GPU has passed; false: nothing
// The bytes that are taken for the one at ADDRESS alone: whole pages, less those that it shares with its
// neighbours, where the budget counts in pages; else its size.
uint64_t allocation_taken(uint64_t address);
bool allocation_is_imported(uint64_t address);               // one that starts there
bool allocation_is_pooled(uint64_t address, uint64_t *size); // the same
int allocation_device(uint64_t address);                     // of the one that holds it
// All of CONTEXT leave with it; they are free when it has ended. END stands for that, and is the caller's own.
void allocations_leave_context(CUcontext context, const void *end);
void allocations_left(const void *end);
// What holds ADDRESS: one of them, or mappings that follow each other without a gap.
bool allocation_find(uint64_t address, uint64_t *start, uint64_t *end);
// The same for what cuMemAlloc and its kin gave.
bool allocation_is_plain(uint64_t address, uint64_t *start, uint64_t *end, CUcontext *context);

#endif
