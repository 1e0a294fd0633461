// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/copy/awaited_ends.h"

#include "client-lib/cuda/copy/flags.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "common/base/wait.h"
#include "cuda_ops.h"

enum { ASKS_AFTER_REFUSAL = 64, SPINS_PER_LOOK = 64 };

// Returns true if a flag in shared memory may signal the end of STREAM in place of an answer. An
// answer arrives after all data and function calls that the box has sent before; a flag does not,
// so none of these may be expected. In the default stream the flag also waits for streams that are
// ordered with it; ALONE: they have no unfinished work.
static bool flag_may_tell(struct box_session *session, CUstream stream, bool alone)
{
    bool is_default = !stream || stream == CU_STREAM_LEGACY;
    return session->memory->maps_page_locked && session_knows(session, OP_sync_signal) &&
           session->spin_us > SPIN_FEW_US && !session->mirrors_host &&
           !session_expecting(session) &&
           !atomic_load_explicit(&session->captures, memory_order_relaxed) &&
           !(is_default && !alone &&
             atomic_load_explicit(&session->blocking_streams, memory_order_relaxed));
}

// Returns false if a long wait is expected, which sleeps, and for a while after the box has refused
// a flag.
static bool flag_is_worth_it(struct box_session *session)
{
    if (atomic_load_explicit(&session->sync_waits.expected_us, memory_order_relaxed) > LONG_WAIT_US)
        return false;
    uint32_t asks = atomic_load_explicit(&session->syncs_to_ask, memory_order_relaxed);
    if (asks)
        atomic_store_explicit(&session->syncs_to_ask, asks - 1, memory_order_relaxed);
    return !asks;
}

// Spins until the flag is set. Returns false if that takes longer than the session's spin time, or
// if the box requests that the client query the end instead.
static bool await_fence(struct box_session *session, const struct fence_hold *fence, uint64_t began)
{
    for (unsigned int spins = 1; !flag_reached(session, fence->index, fence->value); spins++) {
        if (flag_says_ask(session, fence->index, fence->value)) {
            atomic_store_explicit(&session->syncs_to_ask, ASKS_AFTER_REFUSAL, memory_order_relaxed);
            return false;
        }
        cpu_relax();
        if (spins % SPINS_PER_LOOK == 0 && clock_ns() - began >= session->spin_us * UINT64_C(1000))
            return false;
    }
    return true;
}

// ASK queries the box for the end that the flag signals. A flag that may still be written is not
// given back.
static CUresult await_by_flag(struct box_session *session, const struct fence_hold *fence,
                              CUstream stream, CUresult (*ask)(CUstream stream), uint64_t began)
{
    CUresult result = CUDA_SUCCESS;
    uint64_t watched = watch_begin();
    before_work_wait_begins(session);
    bool sent = remote_sync_signal(fence->index, fence->value, stream) == CUDA_SUCCESS;
    bool reported = sent && await_fence(session, fence, began);
    watch_wait_end(WATCH_WAIT_GPU, watched);
    if (reported) {
        staging_deliver(session);
        before_work_wait_ended(session);
    } else {
        result = ask(stream);
    }
    if (!sent || result == CUDA_SUCCESS || flag_says_ask(session, fence->index, fence->value))
        fence_give(session, fence);
    return result;
}

static CUresult awaited_ends_await_end(struct box_session *session, CUstream stream, bool alone,
                                       bool flag_tells, CUresult (*ask)(CUstream stream))
{
    uint64_t began = clock_ns();
    struct fence_hold fence;
    bool by_flag = flag_tells && flag_may_tell(session, stream, alone) &&
                   flag_is_worth_it(session) && fence_take(session, &fence);
    CUresult result = by_flag ? await_by_flag(session, &fence, stream, ask, began) : ask(stream);
    wait_estimate_add(&session->sync_waits, clock_ns() - began);
    return result;
}

CUresult sync_stream(CUstream stream)
{
    struct box_session *session;
    CUstream resolved;
    if (call_check_stream(stream, &session, &resolved) != CUDA_SUCCESS)
        return remote_cuStreamSynchronize(stream);
    CUstream only;
    bool alone = idle_but_for_one(session, &only) && only == resolved;
    CUresult result =
        awaited_ends_await_end(session, resolved, alone, true, remote_cuStreamSynchronize);
    if (result == CUDA_SUCCESS)
        idle_note_stream(session, resolved);
    return result;
}

static CUresult ask_for_context(CUstream unused)
{
    return remote_cuCtxSynchronize();
}

// The end of one stream is the end of all work only if no other stream has unfinished work.
CUresult sync_context(void)
{
    struct box_session *session;
    CUstream only = NULL;
    if (call_check_stream(NULL, &session, &only) != CUDA_SUCCESS)
        return remote_cuCtxSynchronize();
    bool alone = idle_but_for_one(session, &only);
    bool flag_tells = alone || !atomic_load_explicit(&session->streams, memory_order_relaxed);
    uint64_t mark = idle_mark(session);
    CUresult result = awaited_ends_await_end(session, only, alone, flag_tells, ask_for_context);
    if (result == CUDA_SUCCESS)
        idle_note_context(session, mark);
    return result;
}
