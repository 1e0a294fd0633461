// SPDX-License-Identifier: BSD-3-Clause
// Counts GPU memory that the driver takes for nodes of executable graphs, besides memory that they
// allocate.
#ifndef RGPU_WORKER_GRAPH_SIZE_H
#define RGPU_WORKER_GRAPH_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/context_set.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Counts GRAPH before its instantiation as EXEC for CONTEXTS. Notes an error if it exceeds the
// budget. Returns false if graph_size_end() need not be called.
bool graph_size_take(struct serve *serve, uint64_t exec, CUgraph graph,
                     const struct context_set *contexts);
// EXEC was destroyed, or its instantiation has failed.
void graph_size_end(uint64_t exec);

#endif
