// SPDX-License-Identifier: BSD-3-Clause
// Parameters of nodes: the program's form, and the form that is sent.
#ifndef RGPU_CLIENT_GRAPH_NODE_PARAMS_H
#define RGPU_CLIENT_GRAPH_NODE_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"
#include "proto/cuda_abi.h"

struct node_data {
    void *data; // as it is sent; freed by node_data_free
    size_t size;
    CUgraphNodeType type; // that the node has on the box
    uint64_t callback;    // of a host node; 0: none
    CUgraph *graphs;      // handles of a conditional node's graphs, which the program gets with it
    uint32_t graph_count;
};

CUresult node_data_make(struct box_session *session, const CUgraphNodeParams *params,
                        struct node_data *out);
void node_data_free(struct node_data *data);
// Frees the handles of a node whose request was not sent.
void node_data_abandon(struct node_data *data);

#endif
