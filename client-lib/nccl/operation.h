// SPDX-License-Identifier: BSD-3-Clause
// A collective, send or receive that the program has called, with checked arguments, and the
// functions that add its steps to a plan (rank_plan.h).
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
    CUdeviceptr from, to; // the send and the receive buffer
    size_t count;         // the call's count argument, in numbers
    ncclDataType_t type;
    ncclRedOp_t op; // the call's argument, which the boxes' NCCL gets
    enum combining combining;
    bool is_scaled;      // each rank multiplies its numbers by a factor before it combines them
    CUdeviceptr scalar;  // address of that factor; 0: the factor is `value`
    uint64_t value;      // the factor, as a number of `type` in the first bytes
    CUdeviceptr divisor; // address of the number that divides the result; 0: not divided
    int root;            // root of a collective; other rank of a send or a receive
    CUstream stream;
};

// Plans the numbers from FIRST to before END, on the plan's channel, along the ring.
void operation_plan_part(const struct nccl_operation *operation, struct rank_plan *plan,
                         size_t first, size_t end);
// Returns true if operation_plan_tree can plan the operation: it has a tree, more than two ranks,
// and 32 KiB at most.
bool operation_is_small(const struct nccl_operation *operation);
// Plans a whole small operation along a binomial tree, on one channel, through pair slots.
void operation_plan_tree(const struct nccl_operation *operation, struct rank_plan *plan);
// Plans COUNT sends and receives of a group, whose pieces alternate so that none waits for another
// to end.
void operation_plan_pairs(const struct nccl_operation *operations, size_t count,
                          struct rank_plan *plan);
// Plans a collective of a communicator with a single rank.
void operation_plan_alone(const struct nccl_operation *operation, struct rank_plan *plan);

static inline size_t operation_bytes(const struct nccl_operation *operation)
{
    return operation->count * number_size(operation->type);
}

// Returns the address of the factor of this rank's numbers. For a factor that is not in memory of
// the program, this is the channel's scalar (communicator.h), which the plan must write first.
CUdeviceptr operation_scalar(const struct nccl_operation *operation, const struct rank_plan *plan);
// Returns the address of COUNT numbers of this rank's contribution, from number FIRST on. A scaled
// contribution is in the channel's scratch buffer, until the next call for this plan.
CUdeviceptr operation_own(const struct nccl_operation *operation, struct rank_plan *plan,
                          size_t first, size_t count);
// Plans the division of COUNT complete numbers at RESULT, if the operation has a divisor.
void operation_finish(const struct nccl_operation *operation, struct rank_plan *plan,
                      CUdeviceptr result, size_t count);

#endif
