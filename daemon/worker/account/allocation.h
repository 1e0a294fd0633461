// SPDX-License-Identifier: BSD-3-Clause
// List of the session's allocations.
#ifndef RGPU_WORKER_ALLOCATION_H
#define RGPU_WORKER_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/account/pools.h"
#include "worker_driver.h"

// ALLOCATION_DEVICE and ALLOCATION_POOL count against the budget. Mapped memory counts since its
// creation (mappings.c), imported memory for its creator.
enum allocation_kind {
    ALLOCATION_DEVICE = 1,
    ALLOCATION_POOL,
    ALLOCATION_HOST,
    ALLOCATION_MAPPED,
    ALLOCATION_GRAPH,
    ALLOCATION_IMPORTED
};

// Adds an allocation of SIZE bytes on DEVICE. Returns 0 or -ENOMEM.
int allocation_add(uint64_t address, uint64_t size, int device, CUcontext context,
                   enum allocation_kind kind);
// Adds an allocation that counts in the account of a pool (pools.h).
struct pool_account;
int allocation_add_pooled(uint64_t address, uint64_t size, int device, CUcontext context,
                          struct pool_account *account);
// Adds memory that graphs use at this address. The memory is not counted and survives its free. A
// later allocation of the driver at the address replaces it.
int allocation_add_of_graph(uint64_t address, uint64_t size);
bool allocation_remove(uint64_t address); // Returns false if no allocation starts there.
void allocation_forget(uint64_t address); // as allocation_remove(), but the memory remains counted
// Begins the free of an allocation: no request finds it any more, and it counts until it is freed.
// Returns false if there is none, or if its free has begun. One of the next three functions must
// follow.
bool allocation_leave(uint64_t address);
void allocation_stay(uint64_t address); // the free has failed
void allocation_left(uint64_t address); // the memory is free
// The memory is free when the GPU has completed the work in STREAM of CONTEXT, the current context.
void allocation_left_behind(uint64_t address, CUcontext context, CUstream stream);
// Keeps an allocation that was not returned to the program, because freeing it would wait for the
// GPU. No request finds it, and it counts.
void allocation_refuse(uint64_t address);
bool allocations_refused(void); // returns true if there are such allocations
// Returns the address of such an allocation in CONTEXT for the caller to free, or 0.
// allocation_left() must follow.
uint64_t allocation_take_refused(CUcontext context);
bool allocations_pass(void); // returns true if frees wait for the GPU
// Returns the bytes by which the free of the allocation reduces the use: its size or, if the budget
// counts pages, the whole pages that it does not share with neighbours.
bool allocations_settle(void);
// Returns the bytes by which the free of the allocation reduces the use: if the budget counts
// pages, whole pages that it does not share with neighbours; else its size.
uint64_t allocation_taken(uint64_t address);
bool allocation_is_imported(uint64_t address);               // an imported allocation starts there
bool allocation_is_pooled(uint64_t address, uint64_t *size); // a pool allocation starts there
// device of the allocation that contains ADDRESS
int allocation_device(uint64_t address);
// Begin and complete the free of all allocations of an ending CONTEXT. END is any pointer that
// identifies this end.
void allocations_leave_context(CUcontext context, const void *end);
void allocations_left(const void *end);
// Finds the range that contains ADDRESS: one allocation, or adjacent mappings.
bool allocation_find(uint64_t address, uint64_t *start, uint64_t *end);
// As allocation_find(), only for memory of cuMemAlloc and similar calls.
bool allocation_is_plain(uint64_t address, uint64_t *start, uint64_t *end, CUcontext *context);

#endif
