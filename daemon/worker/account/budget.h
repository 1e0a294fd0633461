// SPDX-License-Identifier: BSD-3-Clause
// Counts a session's memory on each GPU against its budget (budget.c).
#ifndef RGPU_WORKER_BUDGET_H
#define RGPU_WORKER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

// Counts SIZE against the device's budget; returns false if it exceeds the budget. The removal of
// an ALLOCATION_DEVICE allocation gives its size back; so does the removal of an ALLOCATION_POOL
// allocation of a pool without an account.
bool budget_take(int device, uint64_t size) __attribute__((warn_unused_result));
// Counts SIZE like budget_take(). If it does not fit, first drops freed memory that the GPU has
// passed, and trims the pools, as the driver does when a device's memory runs out.
bool budget_find(int device, uint64_t size) __attribute__((warn_unused_result));
// Does the same for graphs, without trimming the graphs' own memory.
bool budget_find_beside_graphs(int device, uint64_t size);
// Counts memory that the driver has taken already, even beyond the budget.
void budget_hold(int device, uint64_t size);
// Gives back freed memory that the GPU has passed, and memory that pools have released. Called when
// work of the GPU is complete. Never waits.
void budget_settle(void);
bool budget_is_settled(void); // returns true if budget_settle() would find nothing
// Counts memory that the lease's account already has on this session.
void budget_inherit(int device, uint64_t size);
void budget_give(int device, uint64_t size);
// Takes over the supervisor's numbers of the COUNT GPUs that have the session's memory after a
// move, in the client's order.
void budget_moved(const uint32_t *to, unsigned count);
// Returns true if leases take turns on the device, so that others give way to a query for space.
bool budget_takes_turns(int device);
// Returns the bytes that count against the budget: of all processes of the lease, with their
// contexts.
uint64_t budget_used(int device);

#endif
