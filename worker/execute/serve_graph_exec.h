// SPDX-License-Identifier: BSD-3-Clause
// What was instantiated of graphs, and the memory that it takes (serve_graph_exec.c).
#ifndef RGPU_WORKER_SERVE_GRAPH_EXEC_H
#define RGPU_WORKER_SERVE_GRAPH_EXEC_H

// A graph allocates memory: what is instantiated and launched from now on is counted.
void graph_memory_note(void);

#endif
