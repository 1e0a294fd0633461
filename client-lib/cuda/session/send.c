// SPDX-License-Identifier: BSD-3-Clause
// Requests on a session's link.
#include "client-lib/cuda/session/send.h"

#include <string.h>

#include "client-lib/cuda/report/tell.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/waiting.h"
#include "common/base/log.h"
#include "cuda_ops.h"
#include "version.h"

// Refuses a call that the box does not know, since the box would end the session of a client that
// sent it.
static CUresult refuse_unknown(const struct box_session *session, uint16_t op)
{
    static atomic_flag named[CUDA_OP_LIMIT];

    tell_once(
        "box %s is of rgpu %s, which does not know %s as this library (rgpu %s) sends it: the call was refused; "
        "upgrade rgpu-box there; RGPU_LOG=warn names all such calls",
        session->box, session->release, cuda_op_name(op), RGPU_VERSION);
    if (!atomic_flag_test_and_set(&named[op]))
        log_warn("call not known to the box name=%s box=%s release=%s", cuda_op_name(op),
                 session->box, session->release);
    return CUDA_ERROR_NOT_SUPPORTED;
}

// The caller holds the sending side. The link counts how long it has waited for space, so that a
// call that finds space reads no clock.
static void note_room(struct box_session *session)
{
    uint64_t waited = link_waited(session->link), before = session->room_waited;
    session->room_waited = waited;
    if (__builtin_expect(waited != before, 0) && watching())
        watch_waited(WATCH_WAIT_ROOM, stopwatch_ns() - (waited - before));
}

struct wire_request *session_reserve(struct box_session *session, uint16_t op, uint64_t context,
                                     size_t size, CUresult *result)
{
    size_t whole = (sizeof(struct wire_request) + size + 7) & ~(size_t)7;
    if (whole > WIRE_RECORD_MAX) {
        *result = CUDA_ERROR_INVALID_VALUE;
        return NULL;
    }
    *result = session_lost(session);
    if (*result == CUDA_SUCCESS && __builtin_expect(!session_knows(session, op), 0))
        *result = refuse_unknown(session, op);
    if (*result != CUDA_SUCCESS)
        return NULL;
    struct wire_request *record = link_reserve(session->link, (uint32_t)whole);
    if (!record) {
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, link_error(session->link));
        *result = session_lost(session);
        return NULL;
    }
    note_room(session);
    uint64_t requests = atomic_load_explicit(&session->requests, memory_order_relaxed);
    atomic_store_explicit(&session->requests, requests + 1, memory_order_relaxed);
    *record = (struct wire_request){.size = (uint32_t)whole,
                                    .op = op,
                                    .traced_call = watching() ? watch_number : 0,
                                    .context = context};
    // The padding of the record must not reveal this process's memory to the box.
    if (whole != sizeof(*record) + size)
        memset((uint8_t *)record + whole - 8, 0, 8);
    return record;
}

bool session_ask(struct box_session *session, struct wire_request *record, struct waiter *waiter)
{
    uint32_t number = session_prepare(session, waiter);
    record->call = number; // the record may be the peer's memory too: not read back
    if (!number) {
        link_cancel(session->link);
        return false;
    }
    link_commit_flush(session->link);
    session_wait(session, waiter);
    return true;
}
