// SPDX-License-Identifier: BSD-3-Clause
// Parameters of nodes, in requests and for the driver.
#ifndef RGPU_WORKER_GRAPH_PARAMS_H
#define RGPU_WORKER_GRAPH_PARAMS_H

#include "daemon/worker/request/context_set.h"
#include "daemon/worker/graphs/graph_calls.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

enum {
    // maximum parameters of a kernel: at least a byte each, 4 KiB together
    NODE_PARAMETERS_MAX = 4096,
    NODE_ACCESS_MAX = 64,
    NODE_BATCH_MAX = 256,
    NODE_GRAPHS_MAX = 512
};

// Parameters for the driver, with everything that they point to, which is here or in the record.
struct node_params {
    CUgraphNodeParams params;
    void *parameters[NODE_PARAMETERS_MAX]; // only for kernels
    void *extra[5];
    size_t bytes;
    CUmemAccessDesc access[NODE_ACCESS_MAX];
    CUstreamBatchMemOpParams batch[NODE_BATCH_MAX];
    // Host node: its call, or that of a copy of memory that is not mapped; NULL: none. The function
    // that uses the parameters takes ownership.
    struct graph_call *call;
    struct context_set contexts; // contexts that the node needs
    const uint64_t *graphs;      // conditional node: handles for the graphs inside
    uint32_t graph_count;
};

// Parses the parameters of a node of TYPE; notes an error if they are invalid. Must be called even
// if the request has failed, so that a callback in it is ended.
void node_params_read(struct serve *serve, uint32_t type, const void *data, uint32_t size,
                      struct node_params *out);
// Returns the driver's graph of HANDLE and adds the contexts that it needs to CONTEXTS. Notes an
// error if one of them has ended; the graph can then only be destroyed.
CUgraph graph_that_lives(struct serve *serve, uint64_t handle, struct context_set *contexts);
// Replies with the parameters of a node.
void node_params_answer(struct serve *serve, CUgraphNode node, uint32_t room, uint32_t *type);
// Nodes of a copy of memory that is not mapped: a child graph with a host node for the client's
// side. node_is_copy() returns false for other nodes.
struct copy_nodes {
    CUgraphNode call, copy;
    CUDA_HOST_NODE_PARAMS called;
};
bool node_is_copy(CUgraphNode node, struct copy_nodes *out);

#endif
