// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_SERVE_GRAPH_EXEC_H
#define RGPU_WORKER_SERVE_GRAPH_EXEC_H

#include "daemon/worker/graphs/graph_parts.h"

// Adds CONTEXTS to the contexts that the executable graph HANDLE needs, or replaces them.
void exec_need(struct serve *serve, uint64_t handle, const struct context_set *contexts,
               enum part_need_how how);

#endif
