// SPDX-License-Identifier: BSD-3-Clause
// Requests for the site's NCCL. NCCL queues its work in the worker's streams without waiting,
// because all ranks are connected when the communicator is created.
#include <pthread.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/collect/site_comms.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum { SITE_RANKS_MAX = 64 };

static bool require_library(struct serve *serve)
{
    if (!site_library_open())
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    return !serve_failed(serve);
}

void serve_site_nccl_offer(struct serve *serve, const struct args_site_nccl_offer *args,
                           struct reply_site_nccl_offer *reply)
{
    (void)serve, (void)args;
    reply->version = site_library_open();
}

void serve_site_nccl_id(struct serve *serve, const struct args_site_nccl_id *args)
{
    ncclUniqueId id;

    (void)args;
    if (!require_library(serve))
        return;
    ncclResult_t result = site.ncclGetUniqueId(&id);
    if (result) {
        log_warn("nccl makes no id error=\"%s\"", site_problem(result));
        serve_fail(serve, CUDA_ERROR_UNKNOWN);
        return;
    }
    serve_reply_bytes(serve, &id, sizeof(id));
}

static bool check_making(struct serve *serve, const struct args_site_nccl_make *args)
{
    if (!args->comm || !args->ranks || args->ranks > SITE_RANKS_MAX || args->rank >= args->ranks ||
        args->bytes != sizeof(ncclUniqueId) || !serve_bytes(serve, args + 1, args->bytes))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return !serve_failed(serve);
}

void serve_site_nccl_make(struct serve *serve, const struct args_site_nccl_make *args)
{
    CUdevice device = 0;
    ncclUniqueId id;
    char why[256] = "";

    if (!require_library(serve) || !check_making(serve, args))
        return;
    memcpy(&id, args + 1, sizeof(id));
    serve_fail(serve, driver.cuCtxGetDevice(&device));
    if (serve_failed(serve))
        return;
    serve_fail(serve, site_comm_make(args->comm, (int)args->ranks, (int)args->rank, &id,
                                     session_device_of(device), serve->current, args->timeout_ms,
                                     why, sizeof(why)));
    if (serve_failed(serve))
        log_warn("nccl has not met rank=%u ranks=%u error=\"%s\"", args->rank, args->ranks, why);
    size_t size = strlen(why);
    uint32_t room = serve_reply_room(serve, args->reply_room);
    serve_reply_bytes(serve, why, size < room ? size : room);
}

void serve_site_nccl_ask(struct serve *serve, const struct args_site_nccl_ask *args,
                         struct reply_site_nccl_ask *reply)
{
    if (require_library(serve))
        reply->state = (uint32_t)site_comm_ask(args->comm);
}

void serve_site_nccl_end(struct serve *serve, const struct args_site_nccl_end *args)
{
    if (!require_library(serve))
        return;
    site_comm_end(args->comm, args->aborts);
    driver.cuCtxSetCurrent(serve->current);
}

// ---- operations ----

// One of the client's, with what it names here.
struct asked_collective {
    const struct wire_collective *asked;
    struct site_comm *comm;
    CUstream stream;
    ncclRedOp_t op;
    bool op_made; // of the communicator, for this alone
};

static ncclResult_t make_operation(struct asked_collective *one)
{
    const struct wire_collective *asked = one->asked;
    uint64_t number = asked->scalar;

    one->op = (ncclRedOp_t)asked->op;
    if (asked->scale == WIRE_UNSCALED)
        return ncclSuccess;
    bool by_number = asked->scale == WIRE_SCALED_BY_NUMBER;
    ncclResult_t result = site.ncclRedOpCreatePreMulSum(
        &one->op, by_number ? (void *)&number : (void *)(uintptr_t)asked->scalar, // NOLINT
        (ncclDataType_t)asked->type, by_number ? ncclScalarHostImmediate : ncclScalarDevice,
        one->comm->comm);
    one->op_made = !result;
    return result;
}

static ncclResult_t queue_collective(const struct asked_collective *one)
{
    const struct wire_collective *asked = one->asked;
    const void *from = (const void *)(uintptr_t)asked->from; // NOLINT
    void *to = (void *)(uintptr_t)asked->to;                 // NOLINT
    size_t count = asked->count;
    ncclDataType_t type = (ncclDataType_t)asked->type;
    ncclComm_t comm = one->comm->comm;
    cudaStream_t stream = (cudaStream_t)one->stream;

    switch ((enum wire_collective_kind)asked->kind) {
    case WIRE_ALL_REDUCE: return site.ncclAllReduce(from, to, count, type, one->op, comm, stream);
    case WIRE_REDUCE:
        return site.ncclReduce(from, to, count, type, one->op, asked->root, comm, stream);
    case WIRE_BROADCAST:
        return site.ncclBroadcast(from, to, count, type, asked->root, comm, stream);
    case WIRE_ALL_GATHER: return site.ncclAllGather(from, to, count, type, comm, stream);
    case WIRE_REDUCE_SCATTER:
        return site.ncclReduceScatter(from, to, count, type, one->op, comm, stream);
    case WIRE_SEND: return site.ncclSend(from, count, type, asked->root, comm, stream);
    case WIRE_RECEIVE: return site.ncclRecv(to, count, type, asked->root, comm, stream);
    }
    return ncclInvalidArgument;
}

// The library's kernels access the given memory as the program's would; the library itself reports
// wrong numbers.
static bool find_collective(struct serve *serve, const struct wire_collective *asked,
                            struct asked_collective *one)
{
    *one = (struct asked_collective){.asked = asked};
    one->stream = serve_handle(serve, HANDLE_STREAM, asked->stream);
    if (serve_failed(serve))
        return false;
    one->comm = site_comm_enter(asked->comm);
    if (!one->comm)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return one->comm != NULL;
}

static ncclResult_t queue_group(struct asked_collective *list, size_t count)
{
    ncclResult_t result = ncclSuccess, ended;

    for (size_t i = 0; i < count && !result; i++)
        result = make_operation(&list[i]);
    if (result)
        return result;
    result = site.ncclGroupStart();
    for (size_t i = 0; i < count && !result; i++) {
        driver.cuCtxSetCurrent(list[i].comm->context);
        result = queue_collective(&list[i]);
    }
    ended = site.ncclGroupEnd();
    return result ? result : ended;
}

static void serve_site_nccl_run_group(struct serve *serve, struct asked_collective *list,
                                      size_t count)
{
    static pthread_mutex_t running =
        PTHREAD_MUTEX_INITIALIZER; // communicators are for one at a time

    SCOPED_LOCK(&running);
    ncclResult_t result = queue_group(list, count);
    for (size_t i = 0; i < count; i++) {
        if (list[i].op_made)
            site.ncclRedOpDestroy(list[i].op, list[i].comm->comm);
        if (result)
            site_comm_fail(list[i].comm, result);
    }
    driver.cuCtxSetCurrent(serve->current);
    // The expected data are not in memory, so no later work may pass for right.
    if (result)
        serve_fail(serve, CUDA_ERROR_UNKNOWN);
}

void serve_site_nccl_run(struct serve *serve, const struct args_site_nccl_run *args)
{
    enum { MOST = WIRE_INLINE_MAX / sizeof(struct wire_collective) };
    static _Thread_local struct asked_collective list[MOST];
    const struct wire_collective *asked = (const void *)(args + 1);
    size_t count = args->bytes / sizeof(*asked), entered = 0;

    if (!require_library(serve) || !serve_bytes(serve, asked, args->bytes))
        return;
    if (count > MOST)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    while (entered < count && !serve_failed(serve) &&
           find_collective(serve, &asked[entered], &list[entered]))
        entered++;
    if (!serve_failed(serve))
        serve_site_nccl_run_group(serve, list, count);
    for (size_t i = 0; i < entered; i++)
        site_comm_leave(list[i].comm);
}
