// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory of streams (stream_cost.c). Thread-safe.
#ifndef RGPU_WORKER_STREAM_COST_H
#define RGPU_WORKER_STREAM_COST_H

#include "worker_driver.h"

struct stream_cost; // memory of one stream
struct passage;

void stream_costs_prepare(void); // before requests are served
// Counts a stream that is about to be made in CONTEXT, whose memory is ROOT's. Returns
// OUT_OF_MEMORY if it exceeds the budget. *COST is NULL if nothing is counted.
CUresult stream_cost_take(CUcontext context, CUcontext root, int device, struct stream_cost **cost);
// Ties the cost to STREAM after its creation, until stream_cost_end() or the end of CONTEXT.
void stream_cost_is(struct stream_cost *cost, CUstream stream);
void stream_cost_give(struct stream_cost *cost); // after a failed creation; NULL does nothing
// Ends the cost of STREAM, which is destroyed, when the GPU has reached PASSAGE, which is taken;
// NULL: at once.
void stream_cost_end(CUstream stream, struct passage *passage);

#endif
