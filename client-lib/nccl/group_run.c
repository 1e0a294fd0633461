// SPDX-License-Identifier: BSD-3-Clause
// Carries out a group: the operations of each communicator in order, and several communicators in
// turns, step by step, since a rank may wait for another rank of the same thread. Nothing here
// waits for a GPU.
#include <stdlib.h>

#include "client-lib/nccl/group_run.h"
#include "client-lib/nccl/living.h"
#include "client-lib/nccl/nccl_failure.h"
#include "client-lib/nccl/site_run.h"

enum { SPLIT_BYTES = 1 << 20 }; // operations of at least this size use both channels

// The work of one communicator in a group.
struct comm_run {
    struct ncclComm *comm;
    const struct nccl_operation **operations; // in order
    size_t count, next;
    struct rank_plan plans[CHANNELS]; // of the current operation
    size_t used;                      // number of plans in use
    size_t taken;                     // number of operations that these plans cover
    ncclResult_t result;
};

// ---- beginning and end of an operation ----

static CUstream group_run_stream_of(const struct comm_run *run)
{
    return run->operations[run->next]->stream;
}

static bool is_pair(const struct nccl_operation *o)
{
    return o->kind == OPERATION_SEND || o->kind == OPERATION_RECEIVE;
}

// Orders the run's stream after the streams of the other sends and receives (BEFORE), or these
// after it.
static ncclResult_t join_streams(const struct comm_run *run, bool before)
{
    ncclResult_t result = ncclSuccess;
    for (size_t i = 1; i < run->taken && !result; i++) {
        CUstream other = run->operations[run->next + i]->stream, own = group_run_stream_of(run);
        if (other == own)
            continue;
        result = CU(cuEventRecord(run->comm->joined, before ? other : own));
        if (!result)
            result = CU(cuStreamWaitEvent(before ? own : other, run->comm->joined, 0));
    }
    return result;
}

static ncclResult_t begin_streams(struct comm_run *run)
{
    struct ncclComm *comm = run->comm;
    CUstream stream = group_run_stream_of(run);
    ncclResult_t result = comm->work.began ? CU(cuStreamWaitEvent(stream, comm->work.last, 0))
                                           : ncclSuccess;
    if (!result)
        result = join_streams(run, true);
    if (!result && run->used > 1)
        result = CU(cuEventRecord(comm->forked, stream));
    if (!result && run->used > 1)
        result = CU(cuStreamWaitEvent(comm->side, comm->forked, 0));
    return result;
}

static ncclResult_t end_streams(struct comm_run *run)
{
    struct ncclComm *comm = run->comm;
    CUstream stream = group_run_stream_of(run);
    ncclResult_t result = ncclSuccess;
    if (run->used > 1)
        result = CU(cuEventRecord(comm->joined, comm->side));
    if (!result && run->used > 1)
        result = CU(cuStreamWaitEvent(stream, comm->joined, 0));
    if (!result)
        result = join_streams(run, false);
    if (!result)
        result = CU(cuEventRecord(comm->work.last, stream));
    comm->work.began = true;
    return result;
}

// ---- plans ----

static void plan_collective(struct comm_run *run, const struct nccl_operation *o)
{
    size_t half = o->count / 2 / 16 * 16;
    run->taken = 1;
    if (run->comm->ranks == 1)
        operation_plan_alone(o, &run->plans[0]);
    else if (operation_is_small(o))
        operation_plan_tree(o, &run->plans[0]);
    else if (operation_bytes(o) < SPLIT_BYTES)
        operation_plan_part(o, &run->plans[0], 0, o->count);
    else {
        operation_plan_part(o, &run->plans[0], 0, half);
        operation_plan_part(o, &run->plans[1], half, o->count);
        run->used = 2;
    }
}

static void plan_pairs(struct comm_run *run)
{
    size_t count = run->count - run->next;
    struct nccl_operation *pairs = malloc(count * sizeof(*pairs));
    run->taken = 0;
    while (pairs && run->taken < count && is_pair(run->operations[run->next + run->taken])) {
        pairs[run->taken] = *run->operations[run->next + run->taken];
        run->taken++;
    }
    if (pairs)
        operation_plan_pairs(pairs, run->taken, &run->plans[0]);
    else
        run->plans[0].failed = true;
    free(pairs);
}

static ncclResult_t begin_operation(struct comm_run *run)
{
    const struct nccl_operation *o = run->operations[run->next];
    run->used = 1;
    for (int i = 0; i < CHANNELS; i++)
        run->plans[i] = (struct rank_plan){.comm = run->comm,
                                           .channel = i,
                                           .stream = i ? run->comm->side : o->stream};
    if (o->is_scaled && !o->scalar)
        for (int i = 0; i < CHANNELS; i++)
            plan_write(&run->plans[i], channel_scalar(run->comm, i), o->value);
    if (is_pair(o))
        plan_pairs(run);
    else
        plan_collective(run, o);
    if (run->plans[0].failed || run->plans[1].failed)
        return nccl_refuse(ncclSystemError, "no memory for the steps of an operation");
    return begin_streams(run);
}

static void end_plans(struct comm_run *run)
{
    for (int i = 0; i < CHANNELS; i++)
        plan_end(&run->plans[i]);
    run->used = 0;
}

// Makes one step in each channel. Returns false if no steps were left.
static bool step_channels(struct comm_run *run, ncclResult_t *result)
{
    bool any = false;
    for (size_t i = 0; i < run->used && !*result; i++)
        if (run->plans[i].done < run->plans[i].count) {
            *result = plan_step(&run->plans[i]);
            any = true;
        }
    return any;
}

static ncclResult_t group_run_advance(struct comm_run *run)
{
    ncclResult_t result = ncclSuccess;
    if (!run->used)
        return begin_operation(run);
    if (step_channels(run, &result) || result)
        return result;
    result = end_streams(run);
    end_plans(run);
    run->next += run->taken;
    return result;
}

// Aborts the team, because the other ranks would wait for steps that never come.
static void group_run_give_up(struct comm_run *run, ncclResult_t result)
{
    run->result = communicator_failed(run->comm, result);
    loaded.rgpu_team_abort(run->comm->team);
    end_plans(run);
    run->next = run->count;
}

// Advances a run. Returns false if nothing was left to do.
static bool advance_run(struct comm_run *run)
{
    CUcontext was;
    if (run->comm->site.number || run->next >= run->count)
        return false;
    ncclResult_t result = CU(cuCtxPushCurrent_v2(run->comm->context));
    if (!result) {
        result = group_run_advance(run);
        loaded.cuCtxPopCurrent_v2(&was);
    }
    if (result)
        group_run_give_up(run, result);
    return true;
}

// ---- the group ----

static ncclResult_t load_kernels(const struct nccl_operation *o)
{
    CUcontext was;
    ncclResult_t result = CU(cuCtxPushCurrent_v2(o->comm->context));
    if (result)
        return result;
    bool reduces = o->kind == OPERATION_ALL_REDUCE || o->kind == OPERATION_REDUCE ||
                   o->kind == OPERATION_REDUCE_SCATTER;
    if (reduces)
        result = combine_load(&o->comm->kernels, o->type, o->combining);
    if (!result && o->is_scaled)
        result = combine_load(&o->comm->kernels, o->type, COMBINE_SCALED);
    if (!result && o->divisor)
        result = combine_load(&o->comm->kernels, o->type, COMBINE_DIVIDED);
    loaded.cuCtxPopCurrent_v2(&was);
    return result;
}

static ncclResult_t group_run_check_stream(const struct nccl_operation *o)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUcontext was;
    ncclResult_t result = CU(cuCtxPushCurrent_v2(o->comm->context));
    if (result)
        return result;
    result = CU(cuStreamIsCapturing(o->stream, &status));
    loaded.cuCtxPopCurrent_v2(&was);
    if (!result && status != CU_STREAM_CAPTURE_STATUS_NONE)
        return nccl_refuse(ncclInvalidUsage,
                           "collectives between boxes cannot be captured into a graph");
    return result;
}

// Checks that a rank's sends to itself match its receives from itself, in the order of the calls.
static ncclResult_t check_own_pairs(const struct comm_run *run)
{
    size_t from = 0, to = 0;
    for (;; from++, to++) {
        while (from < run->count && !(run->operations[from]->kind == OPERATION_SEND &&
                                      run->operations[from]->root == run->comm->rank))
            from++;
        while (to < run->count && !(run->operations[to]->kind == OPERATION_RECEIVE &&
                                    run->operations[to]->root == run->comm->rank))
            to++;
        if (from == run->count && to == run->count)
            return ncclSuccess;
        if (from == run->count || to == run->count ||
            operation_bytes(run->operations[from]) != operation_bytes(run->operations[to]))
            return nccl_refuse(ncclInvalidUsage,
                               "rank %d sends to itself what it does not receive in the same group",
                               run->comm->rank);
    }
}

static ncclResult_t check_runs(const struct nccl_operation *operations, size_t count,
                               const struct comm_run *runs, size_t run_count)
{
    ncclResult_t result = ncclSuccess;
    for (size_t i = 0; i < count && !result; i++)
        result = group_run_check_stream(&operations[i]);
    for (size_t i = 0; i < run_count && !result; i++)
        result = runs[i].comm->failed ? nccl_refuse(runs[i].comm->failed, "%s", runs[i].comm->why)
                                      : check_own_pairs(&runs[i]);
    for (size_t i = 0; i < run_count && !result; i++)
        result = communicator_failed(runs[i].comm, TEAM(rgpu_team_check(runs[i].comm->team)));
    for (size_t i = 0; i < count && !result; i++)
        if (!operations[i].comm->site.number)
            result = load_kernels(&operations[i]);
    return result;
}

static int group_run_by_address(const void *a, const void *b)
{
    const struct comm_run *left = a, *right = b;
    return (left->comm > right->comm) - (left->comm < right->comm);
}

// Sorts the runs by address, so that threads take locks in the same order and cannot deadlock.
static size_t sort_out(const struct nccl_operation *operations, size_t count, struct comm_run *runs,
                       const struct nccl_operation **places)
{
    size_t run_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < run_count && runs[k].comm != operations[i].comm)
            k++;
        if (k == run_count)
            runs[run_count++] = (struct comm_run){.comm = operations[i].comm};
        runs[k].count++;
    }
    qsort(runs, run_count, sizeof(*runs), group_run_by_address);
    for (size_t k = 0; k < run_count; k++) {
        runs[k].operations = places;
        for (size_t i = 0; i < count; i++)
            if (operations[i].comm == runs[k].comm)
                *places++ = &operations[i];
    }
    return run_count;
}

static ncclResult_t group_run_carry_out(struct comm_run *runs, size_t count)
{
    ncclResult_t result = ncclSuccess;
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < count; i++)
            any |= advance_run(&runs[i]);
    }
    for (size_t i = 0; i < count && !result; i++)
        if (runs[i].result)
            result = nccl_refuse(runs[i].result, "%s", runs[i].comm->why);
    return result;
}

ncclResult_t group_run_operations(const struct nccl_operation *operations, size_t count)
{
    struct comm_run *runs = calloc(count, sizeof(*runs));
    const struct nccl_operation **places = calloc(count, sizeof(*places));
    ncclResult_t result = ncclSystemError;
    if (runs && places) {
        size_t run_count = sort_out(operations, count, runs, places);
        living_begin_group();
        for (size_t i = 0; i < run_count; i++)
            pthread_mutex_lock(&runs[i].comm->lock);
        result = check_runs(operations, count, runs, run_count);
        if (!result)
            result = site_run_operations(operations, count);
        if (!result)
            result = group_run_carry_out(runs, run_count);
        for (size_t i = 0; i < run_count; i++)
            pthread_mutex_unlock(&runs[i].comm->lock);
        living_end_group();
    } else {
        nccl_refuse(result, "no memory for a group of calls");
    }
    free(runs);
    free(places);
    return result;
}
