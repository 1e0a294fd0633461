// SPDX-License-Identifier: BSD-3-Clause
// Keeps the session's allocations (allocation.c).
#ifndef RGPU_WORKER_ALLOCATION_H
#define RGPU_WORKER_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/account/pools.h"
#include "worker_driver.h"

// The first two count against a budget. Mapped memory was counted when it was made; for imported
// memory its maker pays.
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
// Adds an allocation of a pool whose account counts it.
struct pool_account;
int allocation_add_pooled(uint64_t address, uint64_t size, int device, CUcontext context,
                          struct pool_account *account);
// Adds memory that graphs have at this address whenever they run. It is not counted, stays after
// its free, and a later allocation of the driver at the address replaces it.
int allocation_add_of_graph(uint64_t address, uint64_t size);
bool allocation_remove(uint64_t address); // false: none starts there
void allocation_forget(uint64_t address); // the same, without giving anything back
// Begins the free of the allocation at ADDRESS: no call finds it any longer, and it counts until it
// is free. Returns false if there is none, or if its free has begun already. One of the next three
// functions follows.
bool allocation_leave(uint64_t address);
void allocation_stay(uint64_t address); // it could not be freed
void allocation_left(uint64_t address); // it is free
// Marks it as free after the GPU has passed the work queued in STREAM of CONTEXT, which is current.
void allocation_left_behind(uint64_t address, CUcontext context, CUstream stream);
// Keeps an allocation that the program did not get, since its free would wait for the GPU. No call
// finds it, and it counts.
void allocation_refuse(uint64_t address);
bool allocations_refused(void); // returns true if there are such
// Returns the address of one of CONTEXT for the caller to free, 0: none. allocation_left() follows.
uint64_t allocation_take_refused(CUcontext context);
bool allocations_pass(void);   // returns true if some frees wait for the GPU
bool allocations_settle(void); // gives back what the GPU has passed; false: nothing
// Returns the bytes taken for the allocation at ADDRESS alone: if the budget counts in pages, whole
// pages without those shared with its neighbours; else its size.
uint64_t allocation_taken(uint64_t address);
bool allocation_is_imported(uint64_t address);               // one that starts there
bool allocation_is_pooled(uint64_t address, uint64_t *size); // the same
int allocation_device(uint64_t address);                     // of the allocation that holds it
// Begins the free of all allocations of CONTEXT, which are free after its end. The caller's END
// stands for this end.
void allocations_leave_context(CUcontext context, const void *end);
void allocations_left(const void *end);
// Finds the range around ADDRESS: one allocation, or mappings that follow each other without a gap.
bool allocation_find(uint64_t address, uint64_t *start, uint64_t *end);
// Does the same for memory of cuMemAlloc and similar calls.
bool allocation_is_plain(uint64_t address, uint64_t *start, uint64_t *end, CUcontext *context);

#endif
