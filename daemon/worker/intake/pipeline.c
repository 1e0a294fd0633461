// SPDX-License-Identifier: BSD-3-Clause
// One record: it is checked, its context made current, its handler called and its answer sent.
#include "daemon/worker/intake/pipeline.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/handle_table.h"
#include "common/base/log.h"
#include "common/base/wait.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/activity/activity.h"
#include "daemon/worker/core/driver_load.h"
#include "daemon/worker/intake/shortage.h"
#include "daemon/worker/copy/staged/deliver.h"
#include "daemon/worker/copy/one_sided/one_sided_requests.h"
#include "daemon/worker/copy/staged/push_blocks.h"
#include "daemon/worker/copy/parts/assert_lines.h"
#include "daemon/worker/copy/parts/unanswered.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "daemon/worker/core/mps_client_setup.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/execute/serve_green.h"
#include "cuda_ops.h"
#include "worker_driver.h"
#include "worker_serve.h"

static void send_reply(struct serve *serve)
{
    uint32_t fixed = serve_failed(serve) ? 0 : serve->fixed_size;
    uint32_t size = (uint32_t)sizeof(struct wire_event) + fixed + ((serve->bytes_size + 7) & ~7u);
    struct wire_event *event = link_reserve(session.link, size);

    if (!event)
        return; // the reading thread sees that the link is down and ends the session
    *event = (struct wire_event){
        .size = size,
        .kind = EVENT_REPLY,
        .call = serve->request->call,
        .result = (int32_t)serve->result,
        .deferred = serve_table[serve->request->op].traits & TRAIT_ASIDE
                        ? CUDA_SUCCESS
                        : atomic_exchange_explicit(&session.deferred, 0, memory_order_relaxed),
        .bytes = serve->bytes_size,
    };
    memcpy(event + 1, serve->fixed, fixed);
    memcpy((uint8_t *)(event + 1) + fixed, serve->bytes, serve->bytes_size);
    memset((uint8_t *)(event + 1) + fixed + serve->bytes_size, 0, -serve->bytes_size & 7);
    link_commit_flush(session.link);
}

static void keep_failure(struct serve *serve)
{
    log_debug("op=%s result=%s", cuda_op_name(serve->request->op),
              driver_error_name(serve->result));
    session_keep_failure((int)serve->result);
}

// ---- contexts ----

static void pipeline_enter_context(struct serve *serve, uint64_t handle)
{
    uint32_t epoch = atomic_load_explicit(&session.context_epoch, memory_order_acquire);
    CUcontext context = NULL;

    if (handle) {
        context = handle_find(session.handles, handle, HANDLE_CONTEXT);
        if (!context) {
            serve_fail(serve, CUDA_ERROR_CONTEXT_IS_DESTROYED);
            return;
        }
    }
    if (context == serve->current && epoch == serve->epoch)
        return;
    CUresult result = driver.cuCtxSetCurrent(context);
    serve->current = result == CUDA_SUCCESS ? context : NULL;
    // A failure leaves it open what is current, so the next request asks again.
    serve->epoch = result == CUDA_SUCCESS ? epoch : epoch - 1;
    serve_fail(serve, result);
}

// ---- waiting ----

// Queries the stream that a request named last. A stream in capture must not be queried.
static CUresult query_recent(struct serve *serve, const void *unused)
{
    uint64_t handle = atomic_load_explicit(&session.recent_stream, memory_order_relaxed);
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstream stream = handle <= 1 ? (CUstream)(uintptr_t)handle
                                  : handle_find(session.handles, handle, HANDLE_STREAM);

    if ((handle && !stream) || !driver.cuStreamQuery || !driver.cuStreamIsCapturing ||
        driver.cuStreamIsCapturing(stream, &capture) != CUDA_SUCCESS ||
        capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuStreamQuery(stream);
}

// A wait for everything is mostly one for what was begun last. When that is over the rest is likely
// to be as well: the thread then keeps the link, unless the driver takes longer than a moment to
// say so.
static void prepare_to_await_all(struct serve *serve)
{
    if (!serve->reading)
        return;
    if (serve_ask_a_while(serve, query_recent, NULL) == CUDA_SUCCESS &&
        serve->reader->may_linger(serve))
        return;
    serve_let_others_read(serve);
}

// Queries for a moment, since a wait of microseconds costs less here than passing the link to
// another thread. Returns true if the wait is over and the driver's call can be skipped. If kernels
// print, only the real synchronize makes the driver write the text.
static bool prepare_to_block(struct serve *serve, const struct serve_entry *entry)
{
    CUresult result = CUDA_ERROR_NOT_READY;

    if (entry->traits & TRAIT_SELF_WAITING)
        return false;
    if (entry->traits & TRAIT_ALL_STREAMS) {
        prepare_to_await_all(serve);
        return false;
    }
    if ((entry->traits & TRAIT_BRIEF) && serve->reading && serve->reader->may_linger(serve))
        return false;
    if (entry->query)
        result = serve_ask_a_while(serve, entry->query, serve->request + 1);
    // Asking may have had its consequences: a capture is no longer what it was.
    if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || result == CUDA_ERROR_CAPTURED_EVENT)
        serve_fail(serve, result);
    if (result != CUDA_SUCCESS && !serve_failed(serve))
        serve_let_others_read(serve);
    return result == CUDA_SUCCESS && !atomic_load_explicit(&session.prints, memory_order_relaxed);
}

static bool learned_of_completion(const struct serve *serve, const struct serve_entry *entry)
{
    return entry->kind == SERVE_BLOCKING ||
           ((entry->traits & TRAIT_COMPLETES) && serve->result == CUDA_SUCCESS);
}

// ---- one record ----

const struct serve_entry *serve_check(struct serve *serve, uint32_t size)
{
    const struct wire_request *request = (const void *)serve->record;

    serve->request = request;
    if (size < sizeof(*request) || request->size != size || request->flags ||
        request->op >= CUDA_OP_LIMIT)
        return NULL;
    const struct serve_entry *entry = &serve_table[request->op];
    uint32_t body = size - (uint32_t)sizeof(*request);
    if (!entry->handle || (entry->tail ? body < entry->args_size : body != entry->args_size))
        return NULL;
    return entry->check && !entry->check(request + 1) ? NULL : entry;
}

static void begin_unanswered(struct serve *serve, struct unanswered *request)
{
    CUcontext context = handle_find(session.handles, serve->request->context, HANDLE_CONTEXT);

    unanswered_begin(request, context, green_root(context));
}

static void pipeline_execute(struct serve *serve, const struct serve_entry *entry)
{
    uint64_t start = entry->query || entry->traits & TRAIT_ALL_STREAMS ? clock_ns() : 0;
    bool syncs = entry->traits & TRAIT_IMPLICIT_SYNC, over = false;
    bool is_unanswered = syncs && !serve->request->call;
    struct unanswered unanswered;

    if (!(entry->traits & TRAIT_ROW))
        one_sided_break_row();
    if (is_unanswered)
        begin_unanswered(serve, &unanswered);
    if (syncs) // before the context is looked up, which may go meanwhile
        serve_sync_begins(serve);
    if (!(entry->traits & TRAIT_CONTEXTLESS))
        pipeline_enter_context(serve, serve->request->context);
    if (!serve_failed(serve) && entry->kind == SERVE_BLOCKING)
        over = prepare_to_block(serve, entry);
    activity_enter(serve->request->traced_call);
    if (over)
        ; // the caller hears so
    else if (!serve_failed(serve) || (entry->traits & TRAIT_ANSWERS))
        entry->handle(serve, serve->request + 1);
    activity_leave();
    if (syncs)
        serve_sync_ended();
    if (is_unanswered)
        unanswered_ended(&unanswered);
    if (start)
        serve_note_wait(clock_ns() - start);
}

bool serve_record(struct serve *serve, uint32_t size)
{
    const struct serve_entry *entry = serve_check(serve, size);

    if (!entry)
        return false;
    serve->end = serve->record + size;
    serve->result = CUDA_SUCCESS;
    serve->fixed_size = serve->bytes_size = 0;
    atomic_fetch_add_explicit(&session.calls, 1, memory_order_relaxed);
    pipeline_execute(serve, entry);
    if (serve_failed(serve)) {
        shortage_note(serve);
        mps_client_note(session.control, serve->result);
    }
    if (serve->result == CUDA_ERROR_ASSERT)
        assert_lines_deliver();
    if (learned_of_completion(serve, entry))
        deliver_all();
    if (serve->request->call)
        send_reply(serve);
    else if (serve_failed(serve))
        keep_failure(serve);
    free(serve->payload);
    serve->payload = NULL;
    return true;
}

void serve_what_came(struct serve *serve)
{
    static const struct wire_request push = {.op = OP_push_block};

    if (!push_blocks_coming())
        return;
    serve->request = &push; // of which failures are
    serve->result = CUDA_SUCCESS;
    push_blocks_finish(serve);
    if (!serve_failed(serve))
        return;
    shortage_note(serve);
    mps_client_note(session.control, serve->result);
    keep_failure(serve);
}
