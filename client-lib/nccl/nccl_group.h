// SPDX-License-Identifier: BSD-3-Clause
// Groups: a thread's calls between ncclGroupStart and the matching ncclGroupEnd are stored, and
// ncclGroupEnd executes them together. A call outside a group is executed at once.
#ifndef RGPU_NCCL_NCCL_GROUP_H
#define RGPU_NCCL_NCCL_GROUP_H

#include "client-lib/nccl/operation.h"

// A communicator to make. Those of one group are made at the same time, each by its own thread,
// because each waits for the other ranks.
struct comm_making {
    ncclResult_t (*make)(struct comm_making *making); // makes *MADE; called by that thread
    ncclComm_t *made;                                 // the program's variable
    struct rgpu_rendezvous rendezvous;
    int ranks, rank;
    CUcontext context;
    ncclComm_t parent;   // the communicator to split; NULL: none
    int color, key;      // of ncclCommSplit
    bool primary;        // `make` retains the primary context of the device `rank` as `context`
    ncclResult_t result; // of `make`
    char why[320];       // the message of a failed `make`
};

// Copy an operation or a communicator to make into the thread's open group. Outside a group they
// execute it at once and return its result.
ncclResult_t group_add_operation(const struct nccl_operation *operation);
ncclResult_t group_add_making(const struct comm_making *making);
#endif
