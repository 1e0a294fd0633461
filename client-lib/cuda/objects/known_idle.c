// SPDX-License-Identifier: BSD-3-Clause
// See known_idle.h. Writers of the counts hold the sending side; readers do not.
#include "client-lib/cuda/objects/known_idle.h"

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/objects/thread.h"
#include "cuda_ops.h"

// Returns the key of a stream. Each context has its own default stream, and no stream has the
// handle of a context.
static uint64_t key_of(uint64_t stream, const struct object *context)
{
    if (stream > (uintptr_t)CU_STREAM_LEGACY)
        return stream;
    return context
               ? atomic_load_explicit(&((struct object *)context)->ctx.wire, memory_order_relaxed)
               : 0;
}

// Returns the key of a run, which is the work that this thread sends to one stream; 0: no run. No
// two living threads share the address of `mine`.
static uint64_t run_of(uint64_t key)
{
    static __thread char mine;
    return key ? key * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)&mine : 0;
}

static void known_idle_note_context(struct work_count *work, uint64_t context)
{
    uint64_t before = atomic_load_explicit(&work->context, memory_order_relaxed);
    if (before == context)
        return;
    if (before)
        atomic_store_explicit(&work->several, true, memory_order_relaxed);
    atomic_store_explicit(&work->context, context, memory_order_relaxed);
}

void idle_note_sent(struct box_session *session, uint16_t op, const struct object *context,
                    const uint64_t *stream)
{
    struct work_count *work = &session->work;
    if (cuda_op_starts_nothing(op))
        return;
    if (context)
        known_idle_note_context(work, context->handle);
    uint64_t run = stream ? run_of(key_of(*stream, context)) : 0;
    uint64_t sent = atomic_load_explicit(&work->sent, memory_order_relaxed) + 1;
    bool goes_on = run && run == atomic_load_explicit(&work->run, memory_order_relaxed);
    // A thread that sees the new count must also see that the run which it knows is over.
    if (!goes_on)
        atomic_store_explicit(&work->run, 0, memory_order_relaxed);
    atomic_store_explicit(&work->sent, sent, memory_order_release);
    if (goes_on)
        return;
    atomic_store_explicit(&work->run_begins, sent, memory_order_relaxed);
    atomic_store_explicit(&work->run_stream, stream ? *stream : 0, memory_order_relaxed);
    atomic_store_explicit(&work->run, run, memory_order_relaxed);
}

uint64_t idle_mark(const struct box_session *session)
{
    return atomic_load_explicit(&((struct box_session *)session)->work.sent, memory_order_acquire);
}

static void note_done(struct box_session *session, uint64_t mark)
{
    uint64_t done = atomic_load_explicit(&session->work.done, memory_order_relaxed);
    while (done < mark && !atomic_compare_exchange_weak(&session->work.done, &done, mark))
        ;
}

// Returns true if RUN is the latest one, and all work before it is done. A run belongs to one
// thread; if that is the caller, no other one goes on with it.
static bool is_last_run(struct work_count *work, uint64_t run)
{
    return run && run == atomic_load_explicit(&work->run, memory_order_relaxed) &&
           atomic_load_explicit(&work->run_begins, memory_order_relaxed) <=
               atomic_load_explicit(&work->done, memory_order_relaxed) + 1;
}

void idle_note_stream(struct box_session *session, CUstream stream)
{
    struct work_count *work = &session->work;
    struct object *context = NULL;
    if (thread_context_object(&context) != CUDA_SUCCESS)
        return;
    uint64_t sent = idle_mark(session);
    if (is_last_run(work, run_of(key_of((uintptr_t)stream, context))))
        note_done(session, sent);
}

// Returns true if the current context, *CONTEXT, has sent all work so far.
static bool is_of_one_context(struct work_count *work, struct object **context)
{
    return !atomic_load_explicit(&work->several, memory_order_relaxed) &&
           thread_context_object(context) == CUDA_SUCCESS &&
           (*context)->handle == atomic_load_explicit(&work->context, memory_order_relaxed);
}

void idle_note_context(struct box_session *session, uint64_t mark)
{
    struct object *context = NULL;
    if (is_of_one_context(&session->work, &context))
        note_done(session, mark);
}

bool idle_but_for_one(const struct box_session *session, CUstream *stream)
{
    struct work_count *work = &((struct box_session *)session)->work;
    struct object *context = NULL;
    if (!is_of_one_context(work, &context))
        return false;
    uint64_t sole = atomic_load_explicit(&work->run_stream, memory_order_relaxed);
    if (!is_last_run(work, run_of(key_of(sole, context))))
        return false;
    *stream = sole > (uintptr_t)CU_STREAM_LEGACY ? (CUstream)(uintptr_t)sole : NULL;
    return true;
}

bool idle_is_known(const struct box_session *session)
{
    return atomic_load_explicit(&((struct box_session *)session)->work.done,
                                memory_order_relaxed) == idle_mark(session);
}
