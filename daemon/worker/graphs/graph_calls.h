// SPDX-License-Identifier: BSD-3-Clause
// Calls of graphs into the client at each launch: host functions, and copies of client memory that
// this process does not map. A call lives as long as a graph or an executable graph can make it.
#ifndef RGPU_WORKER_GRAPH_CALLS_H
#define RGPU_WORKER_GRAPH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

struct graph_call;

// Creates a call of the client's function CALLBACK.
struct graph_call *graph_call_function(struct serve *serve, uint64_t callback);
// Creates the client's part of a copy of SIZE bytes. The bytes pass through graph_call_buffer,
// which the call fills from the client's memory (TO_DEVICE), or stores there.
struct graph_call *graph_call_copy(struct serve *serve, uint64_t callback, bool to_device,
                                   uint64_t size);
void *graph_call_buffer(const struct graph_call *call);
// Returns the parameters of the host node that makes the call.
CUDA_HOST_NODE_PARAMS graph_call_params(struct graph_call *call);
// Gives the call to GRAPH: it ends with the graph and all clones and executable graphs of it. This
// takes ownership also on failure, which is noted.
void graph_call_give(struct serve *serve, struct graph_call *call, CUgraph graph);
// Gives the call to the executable graph with handle EXEC, if no graph has it.
void graph_call_give_exec(struct graph_call *call, uint64_t exec);
// Ends the calls of EXEC, which has ended. If it has any, waits until the GPU has completed it.
void graph_calls_end_exec(struct serve *serve, uint64_t exec);
// Frees a call that no graph makes.
void graph_call_drop(struct graph_call *call);
// Reports to the client that CALLBACK will not be called, as no call was created; 0: none.
void graph_callback_refuse(uint64_t callback);
// Returns the client's callback that a host node calls, and sets *COPIES if it is part of a copy.
// 0: the node makes no such call.
uint64_t graph_call_of(const CUDA_HOST_NODE_PARAMS *params, bool *copies);
// Frees buffers of ended copies. Called in a request that may wait for the GPU.
void graph_calls_free_memory(void);

#endif
