// SPDX-License-Identifier: BSD-3-Clause
// The parameters of nodes, as the program gives them and as they travel.
#ifndef RGPU_CLIENT_GRAPH_NODE_PARAMS_H
#define RGPU_CLIENT_GRAPH_NODE_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "client-lib/session/box_session.h"
#include "proto/cuda_abi.h"

struct node_data {
    void *data; // as it travels; freed by node_data_free
    size_t size;
    CUgraphNodeType type; // as the box has it
    uint64_t callee;      // named in it; 0: none
    CUgraph *graphs;      // of a conditional node: handles, which the program is given with it
    uint32_t graph_count;
};

CUresult node_data_make(struct box_session *session, const CUgraphNodeParams *params,
                        struct node_data *out);
void node_data_free(struct node_data *data);
// The request has not gone out.
void node_data_abandon(struct node_data *data);

#endif
