// SPDX-License-Identifier: BSD-3-Clause
// How much of a GPU's memory the session may have, and has (budget.c).
#ifndef RGPU_WORKER_BUDGET_H
#define RGPU_WORKER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

// Counts SIZE against the device's budget; false: over it. An allocation that is added as
// ALLOCATION_DEVICE gives back what is taken for it when it is removed; so does one that is added as
// ALLOCATION_POOL, of a pool without an account, its size.
bool budget_take(int device, uint64_t size);
// The same, and where it does not fit, what the GPU has passed since it was freed counts no more, and pools give back what
// they do not use, as they do where a device's memory runs out.
bool budget_find(int device, uint64_t size);
// The same for graphs, whose own memory stays as it is.
bool budget_find_beside_graphs(int device, uint64_t size);
// Counts what the driver has taken already, also beyond the budget.
void budget_hold(int device, uint64_t size);
// Gives back what the GPU has passed, and what pools have given back; called when work of the GPU is complete. Never waits.
void budget_settle(void);
bool budget_is_settled(void); // that would find nothing
// What the account of the lease has on this session already.
void budget_inherit(int device, uint64_t size);
void budget_give(int device, uint64_t size);
// The session's memory is on other GPUs now: the supervisor's numbers for its COUNT devices, in the client's order.
void budget_moved(const uint32_t *to, unsigned count);
// Whether leases take turns on the device, so that others give way to what is asked for.
bool budget_takes_turns(int device);
// What counts against the budget: of all processes of the lease, with their contexts.
uint64_t budget_used(int device);

#endif
