// SPDX-License-Identifier: BSD-3-Clause
// What graphs that allocate memory hold of a budget (graph_charge.c). Any thread may call.
#ifndef RGPU_WORKER_GRAPH_CHARGE_H
#define RGPU_WORKER_GRAPH_CHARGE_H

#include <stdbool.h>

#include "worker_driver.h"

// The most memory that an instantiated graph takes, and whether it has been counted.
struct graph_need;

// A graph allocates memory: what is instantiated from now on is counted.
void graph_charge_note(void);
// Returns true if the session has a budget, and graphs that allocate.
bool graph_charge_counts(void);

// What is to be instantiated of GRAPH needs; *NEED is NULL if that is nothing.
CUresult graph_need_find(CUgraph graph, struct graph_need **need);
// It was instantiated as EXEC.
void graph_need_is(struct graph_need *need, CUgraphExec exec);
// It could not be, or is not to be; NULL does nothing.
void graph_need_drop(struct graph_need *need);
// EXEC has been destroyed.
void graph_charge_end(CUgraphExec exec);

// Counts what the first upload or launch makes the driver take. OUT_OF_MEMORY: over the budget.
CUresult graph_need_take(struct graph_need *need);
// The same by what was instantiated. *FIRST: it is to be uploaded, as it has no memory yet.
CUresult graph_charge_take(CUgraphExec exec, bool *first);
// After the upload: OUT_OF_MEMORY where the driver has taken more than it may; then it has been given back.
CUresult graph_charge_taken(void);
// EXEC was launched in STREAM of CONTEXT, the current one.
void graph_charge_launched(CUgraphExec exec, CUcontext context, CUstream stream);
// The driver has given back what was not in use on the device.
void graph_charge_trimmed(int device);
// Has it give that back. False: nothing came of it.
bool graph_charge_reclaim(int device);

#endif
