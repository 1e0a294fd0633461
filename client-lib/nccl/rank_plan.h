// SPDX-License-Identifier: BSD-3-Clause
// The steps of one rank for an operation on one channel. A thread completes the plans of all its
// ranks, and then queues one step of each plan in turn, because a step may wait for data from an
// earlier step of another rank.
#ifndef RGPU_NCCL_RANK_PLAN_H
#define RGPU_NCCL_RANK_PLAN_H

#include "client-lib/nccl/communicator.h"

enum step_kind {
    STEP_PUT,     // puts `size` bytes at `from` and signals `tag`
    STEP_WAIT,    // waits for one signal `tag` of `peer`
    STEP_COPY,    // copies `size` bytes on this rank's GPU
    STEP_COMBINE, // combines `size` numbers at `from` with `other`
    STEP_WRITE    // writes `value`, 8 bytes
};

// One step. Each kind uses some of the members.
struct rank_step {
    enum step_kind kind;
    int peer, tag;               // of a put or a wait
    size_t offset;               // of a put, in the peer's window, in bytes
    CUdeviceptr to, from, other; // device addresses: target, source, second source
    size_t size;                 // bytes; of STEP_COMBINE, numbers
    ncclDataType_t type;         // of STEP_COMBINE
    enum combining combining;    // of STEP_COMBINE
    uint64_t value;
};

struct rank_plan {
    struct ncclComm *comm;
    int channel;
    CUstream stream;          // in which the steps are queued
    struct rank_step *steps;  // owned; plan_end frees it
    size_t count, room, done; // steps planned, allocated, queued
    bool failed;              // host memory ran out, and steps are missing
};

// Add one step to the plan. TO, FROM, A and B are device addresses. COUNT is in numbers; B is as
// for combine_launch. Without host memory these and the following functions set `failed`.
void plan_write(struct rank_plan *plan, CUdeviceptr to, uint64_t value);
void plan_copy(struct rank_plan *plan, CUdeviceptr to, CUdeviceptr from, size_t bytes);
void plan_combine(struct rank_plan *plan, ncclDataType_t type, enum combining combining,
                  CUdeviceptr to, CUdeviceptr a, CUdeviceptr b, size_t count);

// Data go around the ring: to the next rank, and from the previous one. plan_ring_put waits for a
// free ring slot of the next rank and puts at most RING_PIECE bytes there. plan_ring_await waits
// for the next filled slot and returns its address; plan_ring_free signals that it may be reused.
void plan_ring_put(struct rank_plan *plan, CUdeviceptr from, size_t bytes);
CUdeviceptr plan_ring_await(struct rank_plan *plan);
void plan_ring_free(struct rank_plan *plan);
// The same between any two ranks, through pair slots of at most comm->pair_piece bytes.
void plan_pair_put(struct rank_plan *plan, int to, CUdeviceptr from, size_t bytes);
CUdeviceptr plan_pair_await(struct rank_plan *plan, int from);
void plan_pair_free(struct rank_plan *plan, int from);

// Queues the next step of the plan in its stream, without waiting. The caller has made the
// communicator's context current, and checked that a step is left.
ncclResult_t plan_step(struct rank_plan *plan);
// Frees the steps.
void plan_end(struct rank_plan *plan);

#endif
