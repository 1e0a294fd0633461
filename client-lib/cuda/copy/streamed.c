// SPDX-License-Identifier: BSD-3-Clause
// Copies where no memory is shared: data to the GPU follows its request on the link, data from it
// comes as events (docs/reference/protocol.md, "Copies over a byte stream").
#include <stdlib.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "common/base/scope.h"

// Copying more than this, to send it again if need be, takes longer than to wait for an answer.
enum { UNACKNOWLEDGED_MOST = 256 * 1024 };

// Sends one block of a push when the box has room for it. DATA must not change until AHEAD has
// settled.
static CUresult push_block(struct box_session *session, uint32_t job, const uint8_t *data,
                           uint64_t offset, uint32_t size, struct link_ahead *ahead)
{
    struct {
        struct wire_request head;
        struct args_push_block args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_push_block},
        .args = {.job = job, .size = size, .offset = offset},
    };
    if (!session_take_credit(session))
        return session_lost(session);
    if (link_send_bulk_ahead(session->link, &record, sizeof(record), data + offset, size, ahead)) {
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, link_error(session->link));
        return session_lost(session);
    }
    return CUDA_SUCCESS;
}

CUresult streamed_blocks(struct box_session *session, uint32_t job, const void *src, size_t size)
{
    struct link_ahead ahead = {0};
    CUresult result = CUDA_SUCCESS;
    for (uint64_t offset = 0; result == CUDA_SUCCESS && offset < size; offset += WIRE_BLOCK_SIZE) {
        uint64_t left = size - offset;
        uint32_t block = left < WIRE_BLOCK_SIZE ? (uint32_t)left : WIRE_BLOCK_SIZE;
        result = push_block(session, job, src, offset, block, &ahead);
    }
    session_await_acknowledged(session, &ahead, UNACKNOWLEDGED_MOST);
    link_settle(session->link, &ahead); // the program may write to its memory afterwards
    return result;
}

CUresult streamed_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                            size_t size, CUstream stream)
{
    SCOPED_LOCK(&session->pushing);
    uint32_t job = session_new_job(session);
    CUresult result = remote_push_begin(job, dst, size, stream, false);
    if (result == CUDA_SUCCESS)
        result = streamed_blocks(session, job, src, size);
    return result;
}

// Returns true if the answer to a later call should carry the data: for small copies that this call
// does not wait for.
static bool may_come_later(const struct box_session *session, size_t size, bool wait)
{
    return !wait && size <= WIRE_INLINE_MAX && session_knows(session, OP_pull_small);
}

static void expect_data(struct box_session *session, bool later, int change)
{
    if (later)
        session_expect_later(session, change);
    else
        session_expect(session, change);
}

CUresult streamed_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                              CUstream stream, bool wait)
{
    bool later = may_come_later(session, size, wait);
    struct waiter waiter = {0};
    struct pending_pull *pull = calloc(1, sizeof(*pull));
    if (!pull)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pull = (struct pending_pull){
        .destination = dst, .size = size, .later = later, .waiter = wait ? &waiter : NULL};
    session_add_pull(session, pull);
    if (!wait)
        expect_data(session, later, 1);
    CUresult result = later ? remote_pull_small(pull->job, src, size, stream)
                            : remote_pull(pull->job, src, size, stream);
    if (result != CUDA_SUCCESS) {
        session_drop_pull(session, pull);
        if (!wait)
            expect_data(session, later, -1);
        free(pull);
    } else if (wait) {
        link_flush(session->link);
        uint64_t began = watch_begin();
        session_wait(session, &waiter);
        watch_wait_end(WATCH_WAIT_DATA, began);
        result = waiter.result;
        // A lost session keeps the pull, because its data can no longer arrive.
        if (waiter.done)
            free(pull);
    }
    return result;
}
