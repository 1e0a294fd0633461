// SPDX-License-Identifier: BSD-3-Clause
// Converts the parameters of graph nodes from the program's form to that of a request.
#ifndef RGPU_CLIENT_GRAPH_NODE_PARAMS_H
#define RGPU_CLIENT_GRAPH_NODE_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"
#include "proto/cuda_abi.h"

struct node_data {
    void *data;           // the parameters in the form of a request; freed by node_data_free
    size_t size;          // bytes
    CUgraphNodeType type; // type of the node on the box
    uint64_t callback;    // handle of a host node's callback; 0: none
    CUgraph *graphs;      // handles of a conditional node's graphs, which the program gets with it
    uint32_t graph_count;
};

// Converts PARAMS for a node of SESSION. On success the caller calls node_data_free, and if the
// request was not sent node_data_abandon before.
CUresult node_data_make(struct box_session *session, const CUgraphNodeParams *params,
                        struct node_data *out);
void node_data_free(struct node_data *data);
// Ends the handles in DATA, whose request was not sent.
void node_data_abandon(struct node_data *data);

#endif
