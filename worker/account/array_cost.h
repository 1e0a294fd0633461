// SPDX-License-Identifier: BSD-3-Clause
// What arrays cost (array_cost.c). Any thread may call.
#ifndef RGPU_WORKER_ARRAY_COST_H
#define RGPU_WORKER_ARRAY_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct array_cost; // of one array

// Bytes of an array, or of a mipmapped one of LEVELS (0: it is none), and never less than the driver takes.
uint64_t array_cost_most(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels);

// Counts one that is about to be made in CONTEXT, which is current. OUT_OF_MEMORY: over the budget. *COST: NULL
// where nothing is to be counted.
CUresult array_cost_take(CUcontext context, int device, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                         unsigned levels, struct array_cost **cost);
// It was made as ARRAY, which ends with array_cost_end or with its context.
void array_cost_is(struct array_cost *cost, const void *array);
// It could not be made.
void array_cost_give(struct array_cost *cost);
void array_cost_end(const void *array);
// CONTEXT ends, and so do its arrays; what they cost has been left to that (charges_leave_context).
void array_costs_drop(CUcontext context);

#endif
