// SPDX-License-Identifier: BSD-3-Clause
// Counts the session's memory on each GPU against its budget.
#ifndef RGPU_WORKER_BUDGET_H
#define RGPU_WORKER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

// Counts SIZE bytes; returns false if they exceed the budget. allocation_remove() gives them back
// for ALLOCATION_DEVICE, and for ALLOCATION_POOL without account.
bool budget_take(int device, uint64_t size) __attribute__((warn_unused_result));
// As budget_take(). If the bytes do not fit, first uncounts freed memory that the GPU has passed,
// and trims pools, as the driver does when device memory is exhausted.
bool budget_find(int device, uint64_t size) __attribute__((warn_unused_result));
// As budget_find(), for graphs: does not trim memory of graphs.
bool budget_find_beside_graphs(int device, uint64_t size);
// Counts memory that the driver has taken already, even above the budget.
void budget_hold(int device, uint64_t size);
// Uncounts freed memory that the GPU has passed, and memory that pools have released. Called when
// work of the GPU is complete. Never waits.
void budget_settle(void);
bool budget_is_settled(void); // returns true if budget_settle() has nothing to do
// Counts memory that the lease's account already has for this session.
void budget_inherit(int device, uint64_t size);
void budget_give(int device, uint64_t size);
// Sets the supervisor's numbers of the session's COUNT GPUs after a move, in the client's order.
void budget_moved(const uint32_t *to, unsigned count);
// Returns true if the device is overcommitted: the supervisor can then make other leases give way.
bool budget_takes_turns(int device);
// Returns the bytes that count against the budget: of all processes of the lease, including
// contexts.
uint64_t budget_used(int device);

#endif
