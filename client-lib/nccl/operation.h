// SPDX-License-Identifier: BSD-3-Clause
// An operation that a program requests of a communicator, with checked arguments, and the functions
// that plan it.
#ifndef RGPU_NCCL_OPERATION_H
#define RGPU_NCCL_OPERATION_H

#include "client-lib/nccl/rank_plan.h"

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
    size_t count; // numbers, as the call counts them
    ncclDataType_t type;
    ncclRedOp_t op; // the program's value
    enum combining combining;
    bool is_scaled;      // this rank's numbers are multiplied first, by
    CUdeviceptr scalar;  // the number at this address, or if 0 by
    uint64_t value;      // this number
    CUdeviceptr divisor; // the result is divided by the number at this address; 0: not divided
    int root;            // or the peer of a send or a receive
    CUstream stream;
};

// Plans the numbers FIRST to END of the operation on the plan's channel.
void operation_plan_part(const struct nccl_operation *operation, struct rank_plan *plan,
                         size_t first, size_t end);
// Returns true if the operation is small enough for a tree, which uses one channel.
bool operation_is_small(const struct nccl_operation *operation);
void operation_plan_tree(const struct nccl_operation *operation, struct rank_plan *plan);
// Plans sends and receives that take place at the same time.
void operation_plan_pairs(const struct nccl_operation *operations, size_t count,
                          struct rank_plan *plan);
// Plans an operation of a communicator with one rank.
void operation_plan_alone(const struct nccl_operation *operation, struct rank_plan *plan);

static inline size_t operation_bytes(const struct nccl_operation *operation)
{
    return operation->count * number_size(operation->type);
}

// Returns the address of the number that scales this rank's contribution, on the plan's channel.
CUdeviceptr operation_scalar(const struct nccl_operation *operation, const struct rank_plan *plan);
// Returns the address of this rank's contribution after scaling: COUNT numbers from number FIRST
// on.
CUdeviceptr operation_own(const struct nccl_operation *operation, struct rank_plan *plan,
                          size_t first, size_t count);
// Finishes a complete result: divides it by the operation's divisor, if it has one.
void operation_finish(const struct nccl_operation *operation, struct rank_plan *plan,
                      CUdeviceptr result, size_t count);

#endif
