// SPDX-License-Identifier: BSD-3-Clause
// The table by which rgpu's libnccl uses the NCCL of the boxes.
#include <stdatomic.h>
#include <stdlib.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/scope.h"
#include "cuda_ops.h"
#include "proto/site_nccl_table.h"

static atomic_uint last_comm;

static uint32_t offer(CUcontext context)
{
    const struct object *object = object_find(HANDLE_CONTEXT, context);
    uint32_t version = 0;

    if (!object || !session_knows(object->session, OP_site_nccl_offer) ||
        thread_push_context(context) != CUDA_SUCCESS)
        return 0;
    if (remote_site_nccl_offer(&version) != CUDA_SUCCESS)
        version = 0;
    thread_pop_context(NULL);
    return version;
}

static CUresult site_nccl_make_id(CUcontext context, ncclUniqueId *id)
{
    size_t used = 0;
    CUresult result = thread_push_context(context);

    if (result != CUDA_SUCCESS)
        return result;
    result = remote_site_nccl_id(id, sizeof(*id), &used);
    thread_pop_context(NULL);
    return result == CUDA_SUCCESS && used != sizeof(*id) ? CUDA_ERROR_UNKNOWN : result;
}

static CUresult make(CUcontext context, int ranks, int rank, const ncclUniqueId *id,
                     uint32_t timeout_ms, uint32_t *comm, char *why, size_t room)
{
    uint32_t number = atomic_fetch_add(&last_comm, 1) + 1;
    size_t used = 0;
    CUresult result = thread_push_context(context);

    if (result != CUDA_SUCCESS)
        return result;
    result = remote_site_nccl_make(number, (uint32_t)ranks, (uint32_t)rank, timeout_ms, id,
                                   sizeof(*id), why, room - 1, &used);
    why[used] = '\0';
    thread_pop_context(NULL);
    if (result == CUDA_SUCCESS)
        *comm = number;
    return result;
}

static ncclResult_t ask(CUcontext context, uint32_t comm)
{
    uint32_t state = ncclInternalError;

    if (thread_push_context(context) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    if (remote_site_nccl_ask(comm, &state) != CUDA_SUCCESS)
        state = ncclUnhandledCudaError;
    thread_pop_context(NULL);
    return (ncclResult_t)state;
}

static void end(CUcontext context, uint32_t comm, bool aborts)
{
    if (thread_push_context(context) != CUDA_SUCCESS)
        return;
    remote_site_nccl_end(comm, aborts);
    thread_pop_context(NULL);
}

// ---- groups ----

// Sends the operations of the group, from number FIRST on, that belong to the session of the first
// one.
static CUresult site_nccl_send_part(const struct site_collective *list,
                                    struct box_session *const *of, size_t first, size_t count)
{
    struct box_session *session = of[first];
    struct call call;
    size_t own = 0;
    bool same_stream = true;

    for (size_t i = first; i < count; i++) {
        own += of[i] == session;
        same_stream &= of[i] != session || list[i].asked.stream == list[first].asked.stream;
    }
    call_begin(&call, OP_site_nccl_run);
    if (same_stream)
        call_stream(&call, list[first].stream);
    struct args_site_nccl_run *args =
        call_reserve(&call, sizeof(*args) + own * sizeof(list->asked));
    if (!args)
        return call.result;
    args->bytes = (uint32_t)(own * sizeof(list->asked));
    struct wire_collective *at = (void *)(args + 1);
    for (size_t i = first; i < count; i++)
        if (of[i] == session)
            *at++ = list[i].asked;
    return call_post(&call);
}

static CUresult site_nccl_find_streams(struct site_collective *list, struct box_session **of,
                                       size_t count)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        CUstream resolved = NULL;
        const struct object *context = object_find(HANDLE_CONTEXT, list[i].context);
        if (!context)
            return CUDA_ERROR_INVALID_CONTEXT;
        result = thread_push_context(list[i].context);
        if (result != CUDA_SUCCESS)
            break;
        result = call_check_stream(list[i].stream, &of[i], &resolved);
        thread_pop_context(NULL);
        list[i].asked.stream = (uint64_t)(uintptr_t)resolved;
        if (result == CUDA_SUCCESS && of[i] != context->session)
            result = CUDA_ERROR_INVALID_HANDLE;
    }
    return result;
}

static bool is_first(struct box_session *const *of, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (of[k] == of[i])
            return false;
    return true;
}

static CUresult run(struct site_collective *list, size_t count)
{
    if (count > WIRE_INLINE_MAX / sizeof(list->asked))
        return CUDA_ERROR_NOT_SUPPORTED;
    SCOPED_FREE struct box_session **of = calloc(count, sizeof(struct box_session *));
    CUresult result = of ? site_nccl_find_streams(list, of, count) : CUDA_ERROR_OUT_OF_MEMORY;

    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        if (!is_first(of, i))
            continue;
        result = thread_push_context(list[i].context);
        if (result != CUDA_SUCCESS)
            break;
        result = site_nccl_send_part(list, of, i, count);
        thread_pop_context(NULL);
    }
    return result;
}

RGPU_EXPORT extern const struct site_nccl_table rgpu_site_nccl_table;
const struct site_nccl_table rgpu_site_nccl_table = {
    .offer = offer,
    .make_id = site_nccl_make_id,
    .make = make,
    .run = run,
    .ask = ask,
    .end = end,
};
