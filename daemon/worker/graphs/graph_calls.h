// SPDX-License-Identifier: BSD-3-Clause
// Calls of the client by graphs, at each launch: of host functions, and for copies of client memory
// that the worker does not map. A call exists while a graph or executable graph can make it.
#ifndef RGPU_WORKER_GRAPH_CALLS_H
#define RGPU_WORKER_GRAPH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

struct graph_call;

// Creates a call of the client's function CALLBACK.
struct graph_call *graph_call_function(struct serve *serve, uint64_t callback);
// Creates the client's side of a copy of SIZE bytes. The call fills graph_call_buffer() from the
// client's memory (TO_DEVICE), or sends the buffer to the client.
struct graph_call *graph_call_copy(struct serve *serve, uint64_t callback, bool to_device,
                                   uint64_t size);
void *graph_call_buffer(const struct graph_call *call);
// Returns the parameters of a host node that makes the call.
CUDA_HOST_NODE_PARAMS graph_call_params(struct graph_call *call);
// Makes GRAPH own the call, which ends with the graph and all clones and executable graphs of it.
// Takes ownership also on failure, which is noted.
void graph_call_give(struct serve *serve, struct graph_call *call, CUgraph graph);
// Makes the executable graph EXEC own the call, if no graph does.
void graph_call_give_exec(struct graph_call *call, uint64_t exec);
// Ends the calls of EXEC, which has ended. If there are any, waits until the GPU has completed it.
void graph_calls_end_exec(struct serve *serve, uint64_t exec);
// Frees a call that no graph makes.
void graph_call_drop(struct graph_call *call);
// Reports to the client that CALLBACK will not be called, because no call was created; 0: none.
void graph_callback_refuse(uint64_t callback);
// Returns the client's callback of a host node; 0 if the node makes no such call. *COPIES: it is
// part of a copy.
uint64_t graph_call_of(const CUDA_HOST_NODE_PARAMS *params, bool *copies);
// Frees buffers of ended copies. Called in a request that may wait for the GPU.
void graph_calls_free_memory(void);

#endif
