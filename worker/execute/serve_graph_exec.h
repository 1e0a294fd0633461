// SPDX-License-Identifier: BSD-3-Clause
// What was instantiated of graphs (serve_graph_exec.c).
#ifndef RGPU_WORKER_SERVE_GRAPH_EXEC_H
#define RGPU_WORKER_SERVE_GRAPH_EXEC_H

#include "worker/execute/graph_parts.h"

// Has what was instantiated under the handle need these contexts.
void exec_need(struct serve *serve, uint64_t handle, const struct context_set *contexts,
               enum part_need_how how);

#endif
