// SPDX-License-Identifier: BSD-3-Clause
// Groups: what a thread asks for between ncclGroupStart and ncclGroupEnd begins at once. A call outside of them is a group.
#ifndef RGPU_NCCL_NCCL_GROUP_H
#define RGPU_NCCL_NCCL_GROUP_H

#include "nccl-lib/operation.h"

// A communicator that is to be made; the others of the group are made meanwhile, each by a thread.
struct comm_making {
    ncclResult_t (*make)(struct comm_making *making);
    ncclComm_t *made;
    struct rgpu_meeting meeting;
    int ranks, rank;
    CUcontext context;
    ncclComm_t parent; // of a split
    int color, key;
    bool primary; // the context is the primary one of the device RANK
    ncclResult_t result;
    char why[320];
};

ncclResult_t group_add_operation(const struct nccl_operation *operation);
ncclResult_t group_add_making(const struct comm_making *making);
#endif
