// SPDX-License-Identifier: BSD-3-Clause
// What a program asks of a communicator, with its arguments checked, and the plans that carry it out.
#ifndef RGPU_NCCL_OPERATION_H
#define RGPU_NCCL_OPERATION_H

#include "nccl-lib/rank_plan.h"

enum operation_kind {
    OPERATION_ALL_REDUCE,
    OPERATION_REDUCE,
    OPERATION_BROADCAST,
    OPERATION_ALL_GATHER,
    OPERATION_REDUCE_SCATTER,
    OPERATION_SEND,
    OPERATION_RECEIVE,
};

struct nccl_operation {
    enum operation_kind kind;
    struct ncclComm *comm;
    CUdeviceptr from, to;
    size_t count; // numbers, of what the call counts
    ncclDataType_t type;
    ncclRedOp_t op; // as the program names it
    enum combining combining;
    bool is_scaled;      // each rank's numbers are multiplied before, by
    CUdeviceptr scalar;  // what is there, or if 0 by
    uint64_t value;      // this
    CUdeviceptr divisor; // and the result is divided by this; 0: by nothing
    int root;            // or the other rank of a send or a receive
    CUstream stream;
};

// The numbers FIRST to END of what the operation counts, on the plan's channel.
void operation_plan_part(const struct nccl_operation *operation, struct rank_plan *plan,
                         size_t first, size_t end);
// Whether it is small enough for a tree, which has one channel.
bool operation_is_small(const struct nccl_operation *operation);
void operation_plan_tree(const struct nccl_operation *operation, struct rank_plan *plan);
// Sends and receives that take place at once.
void operation_plan_pairs(const struct nccl_operation *operations, size_t count,
                          struct rank_plan *plan);
// A communicator of one rank.
void operation_plan_alone(const struct nccl_operation *operation, struct rank_plan *plan);

static inline size_t operation_bytes(const struct nccl_operation *operation)
{
    return operation->count * number_size(operation->type);
}

// Where the number lies that this rank's are multiplied by, on the plan's channel.
CUdeviceptr operation_scalar(const struct nccl_operation *operation, const struct rank_plan *plan);
// What this rank gives of it: COUNT numbers from the number FIRST on.
CUdeviceptr operation_own(const struct nccl_operation *operation, struct rank_plan *plan,
                          size_t first, size_t count);
// The result has become whole.
void operation_finish(const struct nccl_operation *operation, struct rank_plan *plan,
                      CUdeviceptr result, size_t count);

#endif
