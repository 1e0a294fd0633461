// SPDX-License-Identifier: BSD-3-Clause
// When the library takes a session's GPUs for idle, with requests and waits of several threads,
// streams and contexts: never while something that was sent has not been waited for.
#include <pthread.h>
#include <string.h>

#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/objects/thread.h"
#include "cuda_ops.h"
#include "tests/tap.h"

static struct box_session session;
static struct object first = {.kind = HANDLE_CONTEXT, .handle = 100, .ctx.wire = 100};
static struct object second = {.kind = HANDLE_CONTEXT, .handle = 200, .ctx.wire = 200};
static struct object *current = &first;

CUresult thread_context_object(struct object **context)
{
    *context = current;
    return CUDA_SUCCESS;
}

static void send_op(uint16_t op, bool streamed, uint64_t stream)
{
    idle_note_sent(&session, op, current, streamed ? &stream : NULL);
}

static void work(uint64_t stream)
{
    send_op(OP_launch, true, stream);
}

static void wait_for(uint64_t stream)
{
    idle_note_stream(&session, (CUstream)(uintptr_t)stream);
}

static void start(void)
{
    memset(&session, 0, sizeof(session));
    current = &first;
}

static void one_stream(void)
{
    start();
    ok(idle_is_known(&session), "a session that was sent nothing is idle");
    work(0);
    ok(!idle_is_known(&session), "one that was sent work is not");
    wait_for(0);
    ok(idle_is_known(&session), "until the stream is waited for");
    send_op(OP_cuMemAlloc_v2, false, 0);
    send_op(OP_sync_signal, true, 77);
    ok(idle_is_known(&session), "allocations and waits are no work");
    work(50);
    work(50);
    wait_for(0);
    ok(!idle_is_known(&session), "a wait for another stream says nothing");
    wait_for(50);
    ok(idle_is_known(&session), "one for that stream says all");
}

static void two_streams(void)
{
    start();
    work(50);
    work(51);
    wait_for(51);
    ok(!idle_is_known(&session), "the end of the second of two streams is not that of both");
    wait_for(50);
    ok(!idle_is_known(&session), "nor are both, one after the other, taken for it");
    uint64_t mark = idle_mark(&session);
    idle_note_context(&session, mark);
    ok(idle_is_known(&session), "that of the context is");
    work(51);
    mark = idle_mark(&session);
    work(51);
    idle_note_context(&session, mark);
    ok(!idle_is_known(&session), "but not of what was sent after the wait had begun");
    wait_for(51);
    ok(idle_is_known(&session), "which its own stream's end is");
    send_op(OP_cuMemcpyDtoD_v2, false, 0);
    work(51);
    wait_for(51);
    ok(!idle_is_known(&session), "work that names no stream is in none");
}

static void two_contexts(void)
{
    start();
    work(0);
    current = &second;
    work(0);
    wait_for(0);
    ok(!idle_is_known(&session), "default streams of two contexts are two");
    idle_note_context(&session, idle_mark(&session));
    ok(!idle_is_known(&session), "and one context's end is not that of both");
    start();
    work(50);
    current = &second;
    idle_note_context(&session, idle_mark(&session));
    ok(!idle_is_known(&session), "nor that of one which has had no work");
}

static void *work_beside(void *stream)
{
    work((uintptr_t)stream);
    return NULL;
}

static void other_thread(uint64_t stream)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work_beside, (void *)(uintptr_t)stream);
    pthread_join(thread, NULL);
}

static void two_threads(void)
{
    start();
    work(50);
    other_thread(50);
    wait_for(50);
    ok(!idle_is_known(&session),
       "what another thread has sent may have been sent after the wait had begun");
    start();
    other_thread(51);
    work(50);
    wait_for(50);
    ok(!idle_is_known(&session), "or not have been waited for at all");
}

int main(void)
{
    one_stream();
    two_streams();
    two_contexts();
    two_threads();
    return done();
}
