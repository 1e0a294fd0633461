// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory of streams against the budget. Thread-safe.
#ifndef RGPU_WORKER_STREAM_COST_H
#define RGPU_WORKER_STREAM_COST_H

#include "worker_driver.h"

struct stream_cost; // cost of one stream
struct passage;

void stream_costs_prepare(void); // must be called before requests are served
// Counts a stream before its creation in CONTEXT; its memory belongs to ROOT. Returns OUT_OF_MEMORY
// if it exceeds the budget. *COST is NULL if the session has no budget.
CUresult stream_cost_take(CUcontext context, CUcontext root, int device, struct stream_cost **cost);
// Assigns the cost to STREAM after its creation, until stream_cost_end() or the end of CONTEXT.
void stream_cost_is(struct stream_cost *cost, CUstream stream);
void stream_cost_give(struct stream_cost *cost); // after a failed creation; NULL does nothing
// Ends the cost of a destroyed stream when the GPU reaches PASSAGE, or at once if that is NULL.
// Takes ownership of PASSAGE.
void stream_cost_end(CUstream stream, struct passage *passage);

#endif
