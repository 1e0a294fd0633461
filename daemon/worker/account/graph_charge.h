// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory of graphs that allocate (graph_charge.c). Thread-safe.
#ifndef RGPU_WORKER_GRAPH_CHARGE_H
#define RGPU_WORKER_GRAPH_CHARGE_H

#include <stdbool.h>

#include "worker_driver.h"

// The most memory that an instantiated graph takes, and a flag that it is counted.
struct graph_need;

// Notes that a graph allocates memory: later instantiations are counted.
void graph_charge_note(void);
// Returns true if the session has a budget, and graphs that allocate.
bool graph_charge_counts(void);

// Finds the memory that an instantiation of GRAPH needs; *NEED is NULL if it needs none.
CUresult graph_need_find(CUgraph graph, struct graph_need **need);
// Ties the need to EXEC after the instantiation.
void graph_need_is(struct graph_need *need, CUgraphExec exec);
// Drops the need if the instantiation failed or is cancelled; NULL does nothing.
void graph_need_drop(struct graph_need *need);
// Drops what EXEC holds, after its destruction.
void graph_charge_end(CUgraphExec exec);

// Counts the memory that the driver takes at the first upload or launch. Returns OUT_OF_MEMORY if
// it exceeds the budget.
CUresult graph_need_take(struct graph_need *need);
// Does the same for an instantiated graph. *FIRST: the caller has to upload the graph, which has no
// memory yet.
CUresult graph_charge_take(CUgraphExec exec, bool *first);
// Checks the driver's memory after the upload. Returns OUT_OF_MEMORY if the driver took too much;
// the memory is then given back.
CUresult graph_charge_taken(void);
// Notes that EXEC was launched in STREAM of CONTEXT, which is current.
void graph_charge_launched(CUgraphExec exec, CUcontext context, CUstream stream);
// Notes that the driver has given back the graph memory that was not in use on the device.
void graph_charge_trimmed(int device);
// Makes the driver give back unused graph memory. Returns false if it gave back nothing.
bool graph_charge_reclaim(int device);

#endif
