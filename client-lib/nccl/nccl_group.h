// SPDX-License-Identifier: BSD-3-Clause
// Groups: all operations of a thread between ncclGroupStart and ncclGroupEnd begin at the same
// time. A call outside of them is a group by itself.
#ifndef RGPU_NCCL_NCCL_GROUP_H
#define RGPU_NCCL_NCCL_GROUP_H

#include "client-lib/nccl/operation.h"

// A communicator to make. Those of one group are made at the same time, each by its own thread.
struct comm_making {
    ncclResult_t (*make)(struct comm_making *making);
    ncclComm_t *made;
    struct rgpu_rendezvous rendezvous;
    int ranks, rank;
    CUcontext context;
    ncclComm_t parent; // for a split
    int color, key;
    bool primary; // the context is the primary one of the device RANK
    ncclResult_t result;
    char why[320];
};

ncclResult_t group_add_operation(const struct nccl_operation *operation);
ncclResult_t group_add_making(const struct comm_making *making);
#endif
