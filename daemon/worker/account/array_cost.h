// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory of arrays (array_cost.c). Thread-safe.
#ifndef RGPU_WORKER_ARRAY_COST_H
#define RGPU_WORKER_ARRAY_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct array_cost; // memory of one array

// Returns an upper bound of the driver's memory for an array, or for a mipmapped one of LEVELS (0:
// not mipmapped), in bytes.
uint64_t array_cost_most(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels);

// Counts an array that is about to be made in CONTEXT, which is current. Returns OUT_OF_MEMORY if
// it exceeds the budget. *COST is NULL if nothing is counted.
CUresult array_cost_take(CUcontext context, int device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                         unsigned levels, struct array_cost **cost);
// Ties the cost to ARRAY after its creation, until array_cost_end() or the end of its context.
void array_cost_is(struct array_cost *cost, const void *array);
// Takes the cost back after a failed creation.
void array_cost_give(struct array_cost *cost);
void array_cost_end(const void *array);
// Drops the arrays of CONTEXT, which ends; charges_leave_context() handles their memory.
void array_costs_drop(CUcontext context);

#endif
