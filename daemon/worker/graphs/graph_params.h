// SPDX-License-Identifier: BSD-3-Clause
// The parameters of nodes, as they travel and as the driver has them.
#ifndef RGPU_WORKER_GRAPH_PARAMS_H
#define RGPU_WORKER_GRAPH_PARAMS_H

#include "daemon/worker/request/context_set.h"
#include "daemon/worker/graphs/graph_calls.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

enum {
    NODE_PARAMETERS_MAX = 4096, // of a kernel: a parameter has a byte at least, a launch 4 KiB
    NODE_ACCESS_MAX = 64,
    NODE_BATCH_MAX = 256,
    NODE_GRAPHS_MAX = 512
};

// The arguments for the driver, with all that they point to; they lie in the record or here.
struct node_params {
    CUgraphNodeParams params;
    void *parameters[NODE_PARAMETERS_MAX]; // of a kernel
    void *extra[5];
    size_t bytes;
    CUmemAccessDesc access[NODE_ACCESS_MAX];
    CUstreamBatchMemOpParams batch[NODE_BATCH_MAX];
    // The function of a host node, or the call for a copy of memory that is not mapped here; NULL:
    // none. The user of the parameters takes it over.
    struct graph_call *call;
    struct context_set contexts; // what the node needs
    const uint64_t *graphs;      // handles for those inside a conditional node
    uint32_t graph_count;
};

// Reads what came as parameters of a node of TYPE; noted where it cannot be right. Also to be
// called where the request has failed already, as a callback that it names is then to end.
void node_params_read(struct serve *serve, uint32_t type, const void *data, uint32_t size,
                      struct node_params *out);
// The driver's graph behind HANDLE, for use; the contexts that it needs are added to CONTEXTS, and
// noted is where one of them has gone: then it can only be taken apart.
CUgraph graph_that_lives(struct serve *serve, uint64_t handle, struct context_set *contexts);
// Answers with the parameters of a node.
void node_params_answer(struct serve *serve, CUgraphNode node, uint32_t room, uint32_t *type);
// The two nodes of a copy of memory that is not mapped here, which is a child graph with the
// client's side as a host node. False: the node is no such copy.
struct copy_nodes {
    CUgraphNode call, copy;
    CUDA_HOST_NODE_PARAMS called;
};
bool node_is_copy(CUgraphNode node, struct copy_nodes *out);

#endif
