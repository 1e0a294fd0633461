// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/communicator.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/quiet_thread.h"
#include "common/base/scope.h"
#include "client-lib/nccl/combine_kernels.h"
#include "client-lib/nccl/nccl_failure.h"
#include "client-lib/nccl/site_rank.h"

enum {
    MEET_SECONDS = 600, // unless RGPU_NCCL_TIMEOUT says otherwise
    PART_SECONDS = 10,  // limit for the wait at the end of the program until communicators have
                        // ended
    ALIGNMENT = 512,
};

// ---- beginning ----

static int meet_ms(void)
{
    const char *text = secure_getenv("RGPU_NCCL_TIMEOUT");
    long seconds = text ? strtol(text, NULL, 10) : 0;
    return (int)(seconds > 0 && seconds <= 1000000 ? seconds : MEET_SECONDS) * 1000;
}

static size_t memory_size(const struct ncclComm *comm)
{
    return channel_scalar(comm, CHANNELS) - comm->memory;
}

static ncclResult_t write_averages(const struct ncclComm *comm)
{
    char numbers[ncclNumTypes][NUMBER_BYTES_MAX] = {{0}};
    for (int type = 0; type < ncclNumTypes; type++)
        number_for_average((ncclDataType_t)type, comm->ranks, numbers[type]);
    return CU(cuMemcpyHtoD_v2(average_number(comm, 0), numbers, sizeof(numbers)));
}

static ncclResult_t communicator_take_memory(struct ncclComm *comm)
{
    comm->pair_piece = PAIR_BYTES / (size_t)comm->ranks / ALIGNMENT * ALIGNMENT;
    comm->window_bytes = pair_slot(comm, comm->ranks, 0);
    ncclResult_t result = CU(cuMemAlloc_v2(&comm->memory, memory_size(comm)));
    if (!result)
        result = write_averages(comm);
    if (!result)
        result = TEAM(rgpu_window_register(comm->team, &comm->memory, &comm->window_bytes,
                                           RANK_TAGS, &comm->window));
    return result;
}

static ncclResult_t communicator_set_up(struct ncclComm *comm)
{
    ncclResult_t result = CU(cuStreamCreate(&comm->side, CU_STREAM_NON_BLOCKING));
    CUevent *const events[] = {&comm->forked, &comm->joined, &comm->work.last};
    for (int i = 0; i < 3 && !result; i++)
        result = CU(cuEventCreate(events[i], CU_EVENT_DISABLE_TIMING));
    return result ? result : communicator_take_memory(comm);
}

static ncclResult_t communicator_meet(struct ncclComm *comm,
                                      const struct rgpu_rendezvous *rendezvous)
{
    ncclResult_t result = CU(cuCtxGetDevice(&comm->device));
    if (!result)
        result = TEAM(rgpu_team_rendezvous_at(&comm->team, rendezvous, comm->ranks, comm->rank,
                                              &comm->context, 1, meet_ms()));
    comm->site = (struct site_rank){
        .ranks = comm->ranks, .rank = comm->rank, .context = comm->context, .team = comm->team};
    if (!result)
        result = site_rank_join(&comm->site, meet_ms());
    return result || comm->site.number ? result : communicator_set_up(comm);
}

ncclResult_t communicator_make(ncclComm_t *comm, int ranks, int rank,
                               const struct rgpu_rendezvous *rendezvous, CUcontext context)
{
    CUcontext was;
    struct ncclComm *made = calloc(1, sizeof(*made));
    if (!made)
        return nccl_refuse(ncclSystemError, "no memory for a communicator");
    made->ranks = ranks;
    made->rank = rank;
    made->context = made->work.context = context;
    pthread_mutex_init(&made->lock, NULL);
    ncclResult_t result = CU(cuCtxPushCurrent_v2(context));
    if (!result) {
        result = communicator_meet(made, rendezvous);
        loaded.cuCtxPopCurrent_v2(&was);
    }
    if (result) {
        communicator_end(made, true);
        return result;
    }
    living_enter(&made->work);
    *comm = made;
    return ncclSuccess;
}

ncclResult_t communicator_check(ncclComm_t comm)
{
    return comm ? ncclSuccess : nccl_refuse(ncclInvalidArgument, "there is no such communicator");
}

ncclResult_t communicator_failed(struct ncclComm *comm, ncclResult_t result)
{
    if (!result)
        return result;
    snprintf(comm->why, sizeof(comm->why), "%s", last_refusal());
    if (result != ncclInvalidArgument && result != ncclInvalidUsage && !comm->failed)
        comm->failed = result;
    return result;
}

// ---- end ----

static pthread_mutex_t ending_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int ending;

static void free_communicator(struct ncclComm *comm)
{
    CUcontext was;
    if (comm->team)
        loaded.rgpu_team_destroy(&comm->team); // and its window
    if (loaded.cuCtxPushCurrent_v2(comm->context) == CUDA_SUCCESS) {
        CUevent const events[] = {comm->forked, comm->joined, comm->work.last};
        for (int i = 0; i < 3; i++)
            if (events[i])
                loaded.cuEventDestroy_v2(events[i]);
        if (comm->side)
            loaded.cuStreamDestroy_v2(comm->side);
        combine_unload(&comm->kernels);
        if (comm->memory)
            loaded.cuMemFree_v2(comm->memory);
        loaded.cuCtxPopCurrent_v2(&was);
    }
    pthread_mutex_destroy(&comm->lock);
    free(comm);
}

// Waits for the other ranks, and for the moment to free memory.
static void end_with_the_others(struct ncclComm *comm)
{
    site_rank_part(&comm->site, comm->failed);
    if (comm->team)
        loaded.rgpu_team_leave(comm->team);
    living_begin_freeing();
    free_communicator(comm);
    living_end_freeing();
}

static void *end_in_background(void *argument)
{
    end_with_the_others(argument);
    SCOPED_LOCK(&ending_lock);
    ending--;
    pthread_cond_broadcast(&ended);
    return NULL;
}

// Delays the end of the program until communicators have ended, since other ranks may still access
// memory of this process.
static void wait_for_ends(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PART_SECONDS;
    SCOPED_LOCK(&ending_lock);
    while (ending && !pthread_cond_timedwait(&ended, &ending_lock, &until))
        ;
}

static void register_end(void)
{
    atexit(wait_for_ends);
}

static bool begin_end(struct ncclComm *comm)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_t thread;
    pthread_once(&once, register_end);
    SCOPED_LOCK(&ending_lock);
    if (quiet_thread_start(&thread, end_in_background, comm))
        return false;
    pthread_detach(thread);
    ending++;
    return true;
}

void communicator_end(ncclComm_t comm, bool aborted)
{
    living_leave(&comm->work);
    if (!aborted) {
        if (!begin_end(comm))
            end_with_the_others(comm);
        return;
    }
    if (comm->team)
        loaded.rgpu_team_abort(comm->team);
    site_rank_part(&comm->site, true);
    free_communicator(comm);
}
