// SPDX-License-Identifier: BSD-3-Clause
// GPU memory that the driver takes for the nodes of executable graphs, beside memory that they
// allocate (graph_size.c).
#ifndef RGPU_WORKER_GRAPH_SIZE_H
#define RGPU_WORKER_GRAPH_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/context_set.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Counts GRAPH, which is about to be instantiated under the handle EXEC for CONTEXTS. Noted where
// the budget does not allow it. False: there is nothing to be ended.
bool graph_size_take(struct serve *serve, uint64_t exec, CUgraph graph,
                     const struct context_set *contexts);
// EXEC has been destroyed, or has not come about.
void graph_size_end(uint64_t exec);

#endif
