// SPDX-License-Identifier: BSD-3-Clause
// Calls of graphs into the client at each launch: its functions, and copies of memory that this
// process does not map. A call lives as long as a graph, or an executable one, may make it.
#ifndef RGPU_WORKER_GRAPH_CALLS_H
#define RGPU_WORKER_GRAPH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

struct graph_call;

// A call of the client's function.
struct graph_call *graph_call_function(struct serve *serve, uint64_t callback);
// A copy of SIZE bytes that the client has the other side of. Its bytes pass through
// graph_call_buffer, which this call fills from the client's memory (TO_DEVICE), or stores there.
struct graph_call *graph_call_copy(struct serve *serve, uint64_t callback, bool to_device,
                                   uint64_t size);
void *graph_call_buffer(const struct graph_call *call);
// The node that makes it.
CUDA_HOST_NODE_PARAMS graph_call_params(struct graph_call *call);
// Has the call end with GRAPH and all that is made of it. It is the graph's from then on, also
// where that fails.
void graph_call_give(struct serve *serve, struct graph_call *call, CUgraph graph);
// Has it end with what was instantiated, by its handle, as no graph knows of it.
void graph_call_give_exec(struct graph_call *call, uint64_t exec);
// EXEC has ended: its calls end when the GPU is through with them, which this waits for if there
// are any.
void graph_calls_end_exec(struct serve *serve, uint64_t exec);
// One that nothing makes.
void graph_call_drop(struct graph_call *call);
// A callback that no call was made for; 0: there is none.
void graph_callback_refuse(uint64_t callback);
// Returns the client's function that a host node of ours calls, and sets *copies if it is part of a
// copy; 0 for another host node.
uint64_t graph_call_of(const CUDA_HOST_NODE_PARAMS *params, bool *copies);
// Gives back the memory of copies that are no more. In a request that may wait for the GPU.
void graph_calls_free_memory(void);

#endif
