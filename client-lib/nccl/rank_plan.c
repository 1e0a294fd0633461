// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/rank_plan.h"

#include <stdlib.h>

#include "client-lib/nccl/combine_kernels.h"
#include "client-lib/nccl/nccl_failure.h"

static void rank_plan_add(struct rank_plan *plan, struct rank_step step)
{
    if (plan->count == plan->room && !plan->failed) {
        size_t room = plan->room ? 2 * plan->room : 32;
        struct rank_step *grown = reallocarray(plan->steps, room, sizeof(step));
        plan->failed = !grown;
        plan->steps = grown ? grown : plan->steps;
        plan->room = grown ? room : plan->room;
    }
    if (!plan->failed)
        plan->steps[plan->count++] = step;
}

void plan_copy(struct rank_plan *plan, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    if (bytes && to != from)
        rank_plan_add(plan,
                      (struct rank_step){.kind = STEP_COPY, .to = to, .from = from, .size = bytes});
}

void plan_write(struct rank_plan *plan, CUdeviceptr to, uint64_t value)
{
    rank_plan_add(plan, (struct rank_step){.kind = STEP_WRITE, .to = to, .value = value});
}

void plan_combine(struct rank_plan *plan, ncclDataType_t type, enum combining combining,
                  CUdeviceptr to, CUdeviceptr a, CUdeviceptr b, size_t count)
{
    if (count)
        rank_plan_add(plan, (struct rank_step){.kind = STEP_COMBINE,
                                               .to = to,
                                               .from = a,
                                               .other = b,
                                               .size = count,
                                               .type = type,
                                               .combining = combining});
}

static void rank_plan_put(struct rank_plan *plan, int peer, int tag, size_t offset,
                          CUdeviceptr from, size_t bytes)
{
    rank_plan_add(plan, (struct rank_step){.kind = STEP_PUT,
                                           .peer = peer,
                                           .tag = tag,
                                           .offset = offset,
                                           .from = from,
                                           .size = bytes});
}

static void rank_plan_await(struct rank_plan *plan, int peer, int tag)
{
    rank_plan_add(plan, (struct rank_step){.kind = STEP_WAIT, .peer = peer, .tag = tag});
}

// ---- the ring ----

static int next_rank(const struct ncclComm *comm)
{
    return (comm->rank + 1) % comm->ranks;
}

static int rank_before(const struct ncclComm *comm)
{
    return (comm->rank + comm->ranks - 1) % comm->ranks;
}

void plan_ring_put(struct rank_plan *plan, CUdeviceptr from, size_t bytes)
{
    struct slot_counts *ring = &plan->comm->ring[plan->channel];
    int next = next_rank(plan->comm);
    if (ring->sent >= SLOTS)
        rank_plan_await(plan, next, TAG_RING_FREE + plan->channel);
    rank_plan_put(plan, next, TAG_RING_CAME + plan->channel, ring_slot(plan->channel, ring->sent),
                  from, bytes);
    ring->sent++;
}

CUdeviceptr plan_ring_await(struct rank_plan *plan)
{
    struct slot_counts *ring = &plan->comm->ring[plan->channel];
    rank_plan_await(plan, rank_before(plan->comm), TAG_RING_CAME + plan->channel);
    return plan->comm->memory + ring_slot(plan->channel, ring->taken++);
}

void plan_ring_free(struct rank_plan *plan)
{
    rank_plan_put(plan, rank_before(plan->comm), TAG_RING_FREE + plan->channel, 0, 0, 0);
}

// ---- pairs ----

void plan_pair_put(struct rank_plan *plan, int to, CUdeviceptr from, size_t bytes)
{
    struct ncclComm *comm = plan->comm;
    struct slot_counts *pair = &comm->pairs[to];
    if (pair->sent >= SLOTS)
        rank_plan_await(plan, to, TAG_PAIR_FREE);
    rank_plan_put(plan, to, TAG_PAIR_CAME, pair_slot(comm, comm->rank, pair->sent), from, bytes);
    pair->sent++;
}

CUdeviceptr plan_pair_await(struct rank_plan *plan, int from)
{
    struct ncclComm *comm = plan->comm;
    rank_plan_await(plan, from, TAG_PAIR_CAME);
    return comm->memory + pair_slot(comm, from, comm->pairs[from].taken++);
}

void plan_pair_free(struct rank_plan *plan, int from)
{
    rank_plan_put(plan, from, TAG_PAIR_FREE, 0, 0, 0);
}

// ---- carrying it out ----

static ncclResult_t rank_plan_write_value(const struct rank_step *step, CUstream stream)
{
    ncclResult_t result = CU(cuMemsetD32Async(step->to, (unsigned int)step->value, 1, stream));
    return result
               ? result
               : CU(cuMemsetD32Async(step->to + 4, (unsigned int)(step->value >> 32), 1, stream));
}

ncclResult_t plan_step(struct rank_plan *plan)
{
    const struct rank_step *step = &plan->steps[plan->done++];
    const struct ncclComm *comm = plan->comm;
    switch (step->kind) {
    case STEP_PUT:
        return TEAM(rgpu_put_signal_async(comm->window, comm->rank, step->peer, step->offset,
                                          step->from, step->size, step->tag, plan->stream));
    case STEP_WAIT:
        return TEAM(rgpu_signal_wait_async(comm->window, comm->rank, step->peer, step->tag, 1,
                                           plan->stream));
    case STEP_COPY: return CU(cuMemcpyDtoDAsync_v2(step->to, step->from, step->size, plan->stream));
    case STEP_COMBINE:
        return combine_launch(&comm->kernels, step->type, step->combining, step->to, step->from,
                              step->other, step->size, plan->stream);
    case STEP_WRITE: return rank_plan_write_value(step, plan->stream);
    }
    return ncclInternalError;
}

void plan_end(struct rank_plan *plan)
{
    free(plan->steps);
    plan->steps = NULL;
    plan->count = plan->room = plan->done = 0;
}
