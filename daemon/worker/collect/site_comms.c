// SPDX-License-Identifier: BSD-3-Clause
// A communicator is created in its own thread, because NCCL waits for all ranks and cannot be
// interrupted. The caller gives up after a timeout; the thread then destroys what it gets later.
// GPU memory that NCCL takes counts against the budget, as the difference of free memory before and
// after.
#include "daemon/worker/collect/site_comms.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/session.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct site_comm *site_comms; // that are made

// ---- what there is to see ----

// Under lock.
static void tell_comms(void)
{
    char text[128] = "";
    const struct site_comm *first = site_comms;
    unsigned version = site_library_open();

    if (first)
        snprintf(text, sizeof(text), "site's NCCL %u.%u.%u, rank %d of %d%s", version / 10000,
                 version / 100 % 100, version % 100, first->rank, first->ranks,
                 first->next ? ", and others" : "");
    session_set_collectives(text);
}

bool site_comms_any(void)
{
    SCOPED_LOCK(&lock);
    return site_comms != NULL;
}

// ---- making ----

// Each rank sends a byte to each other one, by which the library connects them: it would otherwise
// do so, and wait for them, at the first send of the program.
static ncclResult_t exchange_bytes(const struct site_comm *comm, CUdeviceptr bytes, CUstream stream)
{
    ncclResult_t result = site.ncclGroupStart();
    for (int peer = 0; peer < comm->ranks && !result; peer++) {
        char *own = (char *)(uintptr_t)bytes + peer; // NOLINT: addresses of the GPU
        if (peer == comm->rank)
            continue;
        result = site.ncclSend(own, 1, ncclUint8, peer, comm->comm, (cudaStream_t)stream);
        if (!result)
            result = site.ncclRecv(own + comm->ranks, 1, ncclUint8, peer, comm->comm,
                                   (cudaStream_t)stream);
    }
    ncclResult_t ended = site.ncclGroupEnd();
    return result ? result : ended;
}

static ncclResult_t connect_all(const struct site_comm *comm)
{
    CUdeviceptr bytes = 0;
    CUstream stream = NULL;
    ncclResult_t result = ncclUnhandledCudaError;

    if (driver.cuMemAlloc_v2(&bytes, 2 * (size_t)comm->ranks) != CUDA_SUCCESS)
        return result;
    if (driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS) {
        result = exchange_bytes(comm, bytes, stream);
        if (!result && driver.cuStreamSynchronize(stream) != CUDA_SUCCESS)
            result = ncclUnhandledCudaError;
        driver.cuStreamDestroy_v2(stream);
    }
    driver.cuMemFree_v2(bytes);
    return result;
}

static size_t free_memory(void)
{
    size_t left = 0, total = 0;

    return driver.cuMemGetInfo_v2(&left, &total) == CUDA_SUCCESS ? left : 0;
}

static void count_memory(struct site_comm *comm, size_t before)
{
    size_t after = free_memory();

    if (!charges_apply(comm->device) || after >= before ||
        charge_set(comm, 0, comm->context, comm->device, before - after))
        return;
    comm->result = ncclUnhandledCudaError;
    snprintf(comm->why, sizeof(comm->why), "NCCL takes %zu bytes, which the budget does not allow",
             before - after);
}

static void become_rank(struct site_comm *comm)
{
    size_t before = 0;

    if (driver.cuCtxSetCurrent(comm->context) != CUDA_SUCCESS) {
        comm->result = ncclUnhandledCudaError;
        snprintf(comm->why, sizeof(comm->why), "the context is gone");
        return;
    }
    before = free_memory();
    comm->result = site.ncclCommInitRank(&comm->comm, comm->ranks, comm->id, comm->rank);
    if (!comm->result)
        comm->result = connect_all(comm);
    if (comm->result)
        snprintf(comm->why, sizeof(comm->why), "%s", site_problem(comm->result));
    else
        count_memory(comm, before);
}

static void discard(struct site_comm *comm)
{
    if (comm->comm && driver.cuCtxSetCurrent(comm->context) == CUDA_SUCCESS)
        site.ncclCommAbort(comm->comm);
    charge_drop(comm);
    free(comm);
}

static void *make_comm(void *argument)
{
    struct site_comm *comm = argument;

    become_rank(comm);
    pthread_mutex_lock(&lock);
    bool abandoned = comm->abandoned;
    comm->made = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (abandoned)
        discard(comm);
    return NULL;
}

// Returns true if COMM was created in time. If not, its thread will free it.
static bool await_comm(struct site_comm *comm, uint32_t timeout_ms)
{
    uint64_t until = clock_ns() + (timeout_ms / 1000 + UINT64_C(1)) * 1000000000;

    SCOPED_LOCK(&lock);
    while (!comm->made && !comm->abandoned)
        if (clock_wait_until(&changed, &lock, until) == ETIMEDOUT)
            comm->abandoned = !comm->made;
    return !comm->abandoned;
}

static CUresult keep_comm(struct site_comm *comm, char *why, size_t room)
{
    if (comm->result) {
        snprintf(why, room, "%s", comm->why);
        discard(comm);
        return CUDA_ERROR_UNKNOWN;
    }
    SCOPED_LOCK(&lock);
    comm->next = site_comms;
    site_comms = comm;
    tell_comms();
    return CUDA_SUCCESS;
}

CUresult site_comm_make(uint32_t number, int ranks, int rank, const ncclUniqueId *id, int device,
                        CUcontext context, uint32_t timeout_ms, char *why, size_t room)
{
    pthread_t thread;
    struct site_comm *comm = calloc(1, sizeof(*comm));

    if (!comm)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *comm = (struct site_comm){.number = number,
                               .ranks = ranks,
                               .rank = rank,
                               .device = device,
                               .context = context,
                               .id = *id};
    if (pthread_create(&thread, NULL, make_comm, comm)) {
        free(comm);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_detach(thread);
    if (await_comm(comm, timeout_ms))
        return keep_comm(comm, why, room);
    snprintf(why, room, "the ranks have not found each other within %u s", timeout_ms / 1000);
    return CUDA_ERROR_UNKNOWN;
}

// ---- using ----

// Under lock.
static struct site_comm **place_of_comm(uint32_t number)
{
    struct site_comm **at = &site_comms;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

struct site_comm *site_comm_enter(uint32_t number)
{
    SCOPED_LOCK(&lock);
    struct site_comm *comm = *place_of_comm(number);
    if (comm)
        comm->users++;
    return comm;
}

void site_comm_leave(struct site_comm *comm)
{
    SCOPED_LOCK(&lock);
    comm->users--;
    pthread_cond_broadcast(&changed);
}

void site_comm_fail(struct site_comm *comm, ncclResult_t result)
{
    log_warn("nccl failed rank=%d ranks=%d error=\"%s\"", comm->rank, comm->ranks,
             site_problem(result));
    SCOPED_LOCK(&lock);
    if (!comm->result)
        comm->result = result;
}

ncclResult_t site_comm_ask(uint32_t number)
{
    ncclResult_t state = ncclSuccess;
    struct site_comm *comm = site_comm_enter(number);

    if (!comm)
        return ncclInvalidArgument;
    if (site.ncclCommGetAsyncError(comm->comm, &state))
        state = ncclInternalError;
    pthread_mutex_lock(&lock);
    ncclResult_t result = comm->result ? comm->result : state;
    pthread_mutex_unlock(&lock);
    site_comm_leave(comm);
    return result;
}

// ---- ending ----

static struct site_comm *take_comm(uint32_t number)
{
    SCOPED_LOCK(&lock);
    struct site_comm **at = place_of_comm(number), *comm = *at;
    if (!comm)
        return NULL;
    *at = comm->next;
    tell_comms();
    return comm;
}

static void await_users(const struct site_comm *comm)
{
    SCOPED_LOCK(&lock);
    while (comm->users)
        pthread_cond_wait(&changed, &lock);
}

static void end_comm(struct site_comm *comm, bool aborts)
{
    // An operation that is being queued ends when the communicator is aborted.
    if (!aborts)
        await_users(comm);
    ncclResult_t result = aborts ? site.ncclCommAbort(comm->comm)
                                 : site.ncclCommDestroy(comm->comm);
    if (result)
        log_warn("nccl ends with a failure error=\"%s\"", site.ncclGetErrorString(result));
    await_users(comm);
    charge_drop(comm);
    free(comm);
}

void site_comm_end(uint32_t number, bool aborts)
{
    struct site_comm *comm = take_comm(number);

    if (comm && driver.cuCtxSetCurrent(comm->context) == CUDA_SUCCESS)
        end_comm(comm, aborts);
}

static uint32_t number_in_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    const struct site_comm *comm = site_comms;
    while (comm && comm->context != context)
        comm = comm->next;
    return comm ? comm->number : 0;
}

static void forget_comms(CUcontext context)
{
    uint32_t number;

    while ((number = number_in_context(context)) != 0)
        end_comm(take_comm(number), true);
}

void site_comms_prepare(void)
{
    context_watch(forget_comms);
}
