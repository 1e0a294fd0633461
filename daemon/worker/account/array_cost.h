// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory of arrays against the budget. Thread-safe.
#ifndef RGPU_WORKER_ARRAY_COST_H
#define RGPU_WORKER_ARRAY_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct array_cost; // cost of one array

// Returns an upper bound of an array's memory in bytes. LEVELS: mipmap levels, 0: not mipmapped.
uint64_t array_cost_most(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels);

// Counts an array before its creation in CONTEXT, the current context. Returns OUT_OF_MEMORY if it
// exceeds the budget. *COST is NULL if the session has no budget.
CUresult array_cost_take(CUcontext context, int device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                         unsigned levels, struct array_cost **cost);
// Assigns the cost to ARRAY after its creation. The cost counts until array_cost_end() or the end
// of the context.
void array_cost_is(struct array_cost *cost, const void *array);
// Uncounts the cost after a failed creation.
void array_cost_give(struct array_cost *cost);
void array_cost_end(const void *array);
// Drops the costs of all arrays in an ending context; charges_leave_context() uncounts their
// memory.
void array_costs_drop(CUcontext context);

#endif
