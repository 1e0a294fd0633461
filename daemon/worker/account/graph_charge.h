// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory that graphs allocate against the budget. Thread-safe.
#ifndef RGPU_WORKER_GRAPH_CHARGE_H
#define RGPU_WORKER_GRAPH_CHARGE_H

#include <stdbool.h>

#include "worker_driver.h"

// Maximum memory of an executable graph, and whether it is counted.
struct graph_need;

// Records that a graph has an allocation node. Later executable graphs are counted.
void graph_charge_note(void);
// Returns true if the session has a budget and such graphs.
bool graph_charge_counts(void);

// Computes the memory that an executable graph of GRAPH needs; *NEED is NULL for none.
CUresult graph_need_find(CUgraph graph, struct graph_need **need);
// Assigns the need to EXEC after the instantiation.
void graph_need_is(struct graph_need *need, CUgraphExec exec);
// Frees the need after a failed instantiation. NULL does nothing.
void graph_need_drop(struct graph_need *need);
// Uncounts the memory of EXEC after its destruction.
void graph_charge_end(CUgraphExec exec);

// Counts the memory that the first upload or launch takes. Returns OUT_OF_MEMORY if it exceeds the
// budget.
CUresult graph_need_take(struct graph_need *need);
// As graph_need_take(), for an executable graph. Sets *FIRST if the caller must upload the graph.
CUresult graph_charge_take(CUgraphExec exec, bool *first);
// Checks the memory that the upload has taken. Returns OUT_OF_MEMORY if it is too much; the memory
// is then given back.
CUresult graph_charge_taken(void);
// Records that EXEC was launched in STREAM of CONTEXT, the current context.
void graph_charge_launched(CUgraphExec exec, CUcontext context, CUstream stream);
// Records that the driver has freed the device's unused memory of graphs.
void graph_charge_trimmed(int device);
// Makes the driver free unused memory of graphs. Returns false if there was none.
bool graph_charge_reclaim(int device);

#endif
