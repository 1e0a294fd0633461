// SPDX-License-Identifier: BSD-3-Clause
// The steps of a driver call (see call.h).
#include "client-lib/cuda/objects/call.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/objects/libraries.h"
#include "client-lib/cuda/objects/out_of_reach.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/process.h"
#include "client-lib/cuda/session/send.h"
#include "client-lib/cuda/session/waiting.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "common/base/handle_table.h"
#include "common/base/log.h"
#include "common/driver/lost_context.h"
#include "cuda_ops.h"
#include "client-lib/cuda/session/box_session.h"
#include "client_calls.h"
#include "client-lib/cuda/objects/object.h"

// ---- per-thread default streams ----

static void end_stream(struct thread_stream *stream)
{
    remote_cuStreamDestroy_v2((CUstream)(uintptr_t)stream->stream);
}

// Returns the handle of the calling thread's default stream in CONTEXT, and creates the stream on
// first use. The stream ends with the thread. Returns 0 on failure.
static uint64_t thread_default_stream(const struct object *context)
{
    struct thread_state *mine = thread_state();
    if (!mine)
        return 0;
    for (struct thread_stream *s = mine->streams; s; s = s->next)
        if (s->context == context->handle)
            return s->stream;

    struct thread_stream *made = malloc(sizeof(*made));
    CUstream stream;
    atomic_store_explicit(&context->session->blocking_streams, true, memory_order_relaxed);
    if (!made || remote_cuStreamCreate(&stream, CU_STREAM_DEFAULT) != CUDA_SUCCESS) {
        free(made);
        return 0;
    }
    *made = (struct thread_stream){context->handle, (uintptr_t)stream, end_stream, mine->streams};
    mine->streams = made;
    return made->stream;
}

// ---- the steps of a call ----

void call_begin(struct call *call, uint16_t op)
{
    *call = (struct call){.op = op, .of_program = true};
    call->result = process_ready();
    if (call->result != CUDA_SUCCESS)
        return;
    uint64_t handle = thread_context();
    if (!handle)
        return;
    struct object *context = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)handle);
    if (!context) {
        call->stale = true;
        return;
    }
    call->session = context->session;
    call->context = context;
}

static CUresult no_session(const struct call *call)
{
    return call->stale ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
}

void call_fail(struct call *call, CUresult result)
{
    if (call->result == CUDA_SUCCESS)
        call->result = result;
}

// One request can name objects of one box only. Operations across boxes have their own requests.
static void refuse_mixture(struct call *call)
{
    static atomic_flag named[CUDA_OP_LIMIT];
    if (!atomic_flag_test_and_set(&named[call->op]))
        log_warn("call refused that names objects of two boxes name=%s", cuda_op_name(call->op));
    call->result = CUDA_ERROR_INVALID_HANDLE;
}

// Sends the call to the session of its objects. If the thread has no context there, the call uses
// theirs. False: another argument belongs to another session.
static bool adopt_session(struct call *call, struct box_session *session, struct object *context)
{
    if (call->session != session) {
        if (call->bound) {
            refuse_mixture(call);
            return false;
        }
        call->session = session;
        call->context = context;
    } else if (!call->context) {
        call->context = context;
    }
    call->bound = true;
    return true;
}

static struct object *call_context_of(struct object *object)
{
    return object->kind == HANDLE_CONTEXT
               ? object
               : object_find(HANDLE_CONTEXT, (void *)(uintptr_t)object->context);
}

uint64_t call_handle(struct call *call, enum handle_kind kind, const void *handle)
{
    if (call->result != CUDA_SUCCESS)
        return 0;
    struct object *object = object_find(kind, handle);
    if (!object) {
        call->result = object_missing(kind, handle);
        return 0;
    }
    // Libraries and kernels are not tied to a context: each box gets its own when it is needed.
    if ((object->kind == HANDLE_KERNEL || object->kind == HANDLE_LIBRARY) && call->session &&
        call->session != object->session) {
        object = library_twin(object, call->session, &call->result);
        if (!object)
            return 0;
    }
    if (!adopt_session(call, object->session, call_context_of(object)))
        return 0;
    if (kind != HANDLE_CONTEXT)
        return object->handle;
    uint64_t wire = object->ctx.wire;
    if (!wire)
        call->result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return wire;
}

// The default stream is the one of the thread's current context.
static uint64_t default_stream(struct call *call, CUstream stream)
{
    struct object *context;
    if (thread_context_object(&context) == CUDA_SUCCESS)
        adopt_session(call, context->session, context);
    return (uintptr_t)stream;
}

static uint64_t call_stream_of(struct call *call, CUstream stream)
{
    if (stream == CU_STREAM_PER_THREAD) {
        struct object *context;
        call->result = thread_context_object(&context);
        if (call->result != CUDA_SUCCESS)
            return 0;
        uint64_t mine = thread_default_stream(context);
        if (!mine)
            call->result = CUDA_ERROR_OUT_OF_MEMORY;
        return mine && adopt_session(call, context->session, context) ? mine : 0;
    }
    if (!stream || stream == CU_STREAM_LEGACY)
        return default_stream(call, stream);
    return call_handle(call, HANDLE_STREAM, stream);
}

uint64_t call_stream(struct call *call, CUstream stream)
{
    if (call->result != CUDA_SUCCESS)
        return 0;
    call->stream = call_stream_of(call, stream);
    call->streamed = true;
    return call->stream;
}

CUresult call_check_stream(CUstream stream, struct box_session **session, CUstream *resolved)
{
    struct call call;
    call_begin(&call, 0);
    *resolved = (CUstream)(uintptr_t)call_stream(&call, stream);
    if (call.result == CUDA_SUCCESS && !call.session)
        call.result = no_session(&call);
    *session = call.session;
    return call.result;
}

int32_t call_device(struct call *call, CUdevice device)
{
    if (call->result != CUDA_SUCCESS)
        return 0;
    struct box_session *session = session_of_device(device);
    if (!session) {
        call->result = CUDA_ERROR_INVALID_DEVICE;
        return 0;
    }
    return adopt_session(call, session, NULL) ? box_device_number(device) : 0;
}

// The primary context owns all objects of its green contexts, except streams.
static uint64_t owner_of(const struct object *context, enum handle_kind kind)
{
    return kind == HANDLE_STREAM ? context->handle : context->ctx.root;
}

uint64_t call_mint(struct call *call, enum handle_kind kind)
{
    if (call->result != CUDA_SUCCESS)
        return 0;
    if (!call->session) {
        call->result = no_session(call);
        return 0;
    }
    if (kind == HANDLE_STREAM)
        atomic_store_explicit(&call->session->streams, true, memory_order_relaxed);
    struct object *object =
        object_new(kind, call->session, call->context ? owner_of(call->context, kind) : 0);
    if (!object) {
        call->result = CUDA_ERROR_OUT_OF_MEMORY;
        return 0;
    }
    return object->handle;
}

CUresult call_unmint(struct call *call, uint64_t handle)
{
    if (handle)
        handle_retire(handle);
    return call->result;
}

void *call_reserve(struct call *call, size_t size)
{
    if (call->result != CUDA_SUCCESS)
        return NULL;
    if (!call->session) {
        call->result = no_session(call);
        return NULL;
    }
    if (before_work_duties()) {
        if (cuda_op_touches(call->op))
            call->result = call_work(call, 0);
        if (call->result != CUDA_SUCCESS)
            return NULL;
        if (cuda_op_completes(call->op))
            before_work_wait_begins(call->session);
    }
    call->record = session_reserve(call->session, call->op,
                                   call->context ? call->context->ctx.wire : 0, size,
                                   &call->result);
    if (!call->record)
        return NULL;
    idle_note_sent(call->session, call->op, call->context, call->streamed ? &call->stream : NULL);
    return call->record + 1;
}

CUresult call_work(const struct call *call, uint64_t stream)
{
    return before_work_sent(call->session, call->context ? call->context->handle : 0, stream);
}

// Returns the error that the context has failed with, CUDA_SUCCESS if it has not failed.
static CUresult failure_of(const struct object *context)
{
    return context ? (CUresult)atomic_load_explicit(&((struct object *)context)->ctx.sticky,
                                                    memory_order_relaxed)
                   : CUDA_SUCCESS;
}

// Returns true for calls that end contexts, which work for failed ones, too.
static bool ends_context(uint16_t op)
{
    return op == OP_cuDevicePrimaryCtxReset_v2 || op == OP_cuDevicePrimaryCtxRelease_v2 ||
           op == OP_cuCtxDestroy_v2 || op == OP_cuDevicePrimaryCtxRetain;
}

// A context may have failed in this process alone, without the box.
static CUresult note_sticky(const struct call *call, CUresult result)
{
    if (__builtin_expect(result_loses_context(result), 0) && call->context) {
        atomic_store_explicit(&call->context->ctx.sticky, (int)result, memory_order_relaxed);
        out_of_reach_failed(call->session, result);
    }
    return result == CUDA_SUCCESS && !ends_context(call->op) ? failure_of(call->context) : result;
}

// Returns true for calls that a failed context still sends. The context may have failed in this
// process alone, while streams on the box wait for a value that only the program writes.
static bool lets_go(uint16_t op)
{
    return op == OP_cuStreamWriteValue32_v2 || op == OP_cuStreamWriteValue64_v2;
}

static CUresult post_to_failed(struct call *call, CUresult sticky)
{
    if (lets_go(call->op))
        link_commit(call->session->link);
    else
        link_cancel(call->session->link);
    return sticky;
}

static __thread bool flush_follows;

void calls_gather(void)
{
    flush_follows = true;
}

void calls_leave(struct box_session *session)
{
    flush_follows = false;
    link_flush(session->link);
}

// Returns true for calls that wait for the answer, so that they return the error themselves: while
// a stream is captured, which forbids some, and where a budget refuses some.
static bool may_be_refused(const struct call *call)
{
    return atomic_load_explicit(&call->session->captures, memory_order_relaxed) ||
           (call->session->budgeted && cuda_op_is_counted(call->op));
}

CUresult call_post(struct call *call)
{
    // Requests to a failed context are dropped, and the caller gets the context's error.
    CUresult sticky = failure_of(call->context);
    if (__builtin_expect(sticky != CUDA_SUCCESS, 0))
        return post_to_failed(call, sticky);
    if (__builtin_expect(may_be_refused(call), 0) && call->of_program)
        return call_wait(call, NULL, 0);
    if (flush_follows)
        link_commit_ahead(call->session->link);
    else
        link_commit(call->session->link);
    if (__builtin_expect(link_wants_reading(call->session->link), 0))
        session_take_acknowledgements(call->session);
    return CUDA_SUCCESS;
}

CUresult call_wait_bytes(struct call *call, void *reply, size_t size, void *bytes, size_t room,
                         size_t *used)
{
    struct box_session *session = call->session;
    struct waiter waiter = {.reply = reply, .reply_size = size, .bytes = bytes, .bytes_room = room};
    uint64_t began = watch_begin();
    bool asked = session_ask(session, call->record, &waiter);
    watch_wait_end(cuda_op_waits_for_gpu(call->op) ? WATCH_WAIT_GPU : WATCH_WAIT_ANSWER, began);
    if (!asked)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (used)
        *used = waiter.bytes_used;
    if (waiter.result == CUDA_SUCCESS) {
        staging_deliver(session);
        if (before_work_duties() && cuda_op_completes(call->op))
            before_work_wait_ended(session);
    }
    return note_sticky(call, waiter.result != CUDA_SUCCESS ? waiter.result : waiter.deferred);
}

CUresult call_wait(struct call *call, void *reply, size_t size)
{
    return call_wait_bytes(call, reply, size, NULL, 0, NULL);
}

void handle_retire(uint64_t handle)
{
    object_retire((enum handle_kind)handle_type(handle), handle);
}
