// SPDX-License-Identifier: BSD-3-Clause
// Executable graphs (serve_graph_exec.c).
#ifndef RGPU_WORKER_SERVE_GRAPH_EXEC_H
#define RGPU_WORKER_SERVE_GRAPH_EXEC_H

#include "daemon/worker/graphs/graph_parts.h"

// Has what was instantiated under the handle need these contexts.
void exec_need(struct serve *serve, uint64_t handle, const struct context_set *contexts,
               enum part_need_how how);

#endif
