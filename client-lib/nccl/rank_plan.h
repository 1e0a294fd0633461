// SPDX-License-Identifier: BSD-3-Clause
// The steps of one rank for an operation on one channel. A plan is completed first and then carried
// out in turns with those of other ranks of this thread, since a step may wait for data from
// another rank's earlier step.
#ifndef RGPU_NCCL_RANK_PLAN_H
#define RGPU_NCCL_RANK_PLAN_H

#include "client-lib/nccl/communicator.h"

enum step_kind { STEP_PUT, STEP_WAIT, STEP_COPY, STEP_COMBINE, STEP_WRITE };

struct rank_step {
    enum step_kind kind;
    int peer, tag; // of puts and waits
    size_t offset; // of a put, in the peer's window
    CUdeviceptr to, from, other;
    size_t size; // bytes; of combinations, numbers
    ncclDataType_t type;
    enum combining combining;
    uint64_t value; // value to write
};

struct rank_plan {
    struct ncclComm *comm;
    int channel;
    CUstream stream;
    struct rank_step *steps;
    size_t count, room, done;
    bool failed; // memory has run out
};

void plan_write(struct rank_plan *plan, CUdeviceptr to, uint64_t value);
void plan_copy(struct rank_plan *plan, CUdeviceptr to, CUdeviceptr from, size_t bytes);
void plan_combine(struct rank_plan *plan, ncclDataType_t type, enum combining combining,
                  CUdeviceptr to, CUdeviceptr a, CUdeviceptr b, size_t count);

// Data go around the ring: to the next rank, and from the previous one. Received data stay at the
// address that plan_ring_await returns until plan_ring_free.
void plan_ring_put(struct rank_plan *plan, CUdeviceptr from, size_t bytes);
CUdeviceptr plan_ring_await(struct rank_plan *plan);
void plan_ring_free(struct rank_plan *plan);
// Between any two ranks.
void plan_pair_put(struct rank_plan *plan, int to, CUdeviceptr from, size_t bytes);
CUdeviceptr plan_pair_await(struct rank_plan *plan, int from);
void plan_pair_free(struct rank_plan *plan, int from);

// Makes the next step of the plan. The communicator's context is current.
ncclResult_t plan_step(struct rank_plan *plan);
void plan_end(struct rank_plan *plan);

#endif
