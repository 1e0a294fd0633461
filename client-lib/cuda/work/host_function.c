// SPDX-License-Identifier: BSD-3-Clause
// Host functions and stream callbacks run in one thread, in the order in which streams reach them.
// Each call has its own token, even if the function is the same.
#include "client-lib/cuda/work/host_function.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "common/base/scope.h"

struct host_function {
    uint64_t token;
    CUhostFn function;
    CUstreamCallback callback; // called instead of function
    void *data;
    CUstream stream; // the stream as the program named it
    struct box_session *session;
    int32_t status;
    bool of_graph; // session_expect counts its callback instead
    struct host_function *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t due_now = PTHREAD_COND_INITIALIZER;
static struct host_function *waiting; // sent, not due yet
static struct host_function *due, **due_end = &due;
static uint64_t next_token = 1;
static bool running;

// Lets the stream continue. Its queued work may use memory that the function has written, so this
// runs the hooks for new work, too.
static void tell_done(const struct host_function *called)
{
    (void)before_work_sent(called->session, 0, 0);
    struct call call = {.session = called->session, .op = OP_host_function_done};
    struct args_host_function_done *args = call_reserve(&call, sizeof(*args));
    if (!args)
        return; // the session is lost, and the stream with it
    args->token = called->token;
    call_post(&call);
    link_flush(called->session->link);
}

static struct host_function *host_function_next_due(void)
{
    SCOPED_LOCK(&lock);
    while (!due)
        pthread_cond_wait(&due_now, &lock);
    struct host_function *called = due;
    due = called->next;
    if (!due)
        due_end = &due;
    return called;
}

static void *run_due(void *unused)
{
    for (;;) {
        struct host_function *called = host_function_next_due();
        staging_deliver(called->session);
        before_work_wait_ended(called->session);
        atomic_fetch_add(&host_functions_running, 1);
        if (called->callback)
            called->callback(called->stream, (CUresult)called->status, called->data);
        else
            called->function(called->data);
        atomic_fetch_sub(&host_functions_running, 1);
        if (called->token)
            tell_done(called);
        if (!called->of_graph)
            session_expect(called->session, -1);
        free(called);
    }
    return NULL;
}

static struct host_function *host_function_take_waiting(uint64_t token)
{
    struct host_function **at = &waiting;
    while (*at && (*at)->token != token)
        at = &(*at)->next;
    struct host_function *found = *at;
    if (found)
        *at = found->next;
    return found;
}

// The caller holds the lock.
static void add_due(struct host_function *called)
{
    called->next = NULL;
    *due_end = called;
    due_end = &called->next;
    pthread_cond_signal(&due_now);
}

bool host_function_queue(struct box_session *session, uint64_t token, CUhostFn function, void *data)
{
    struct host_function *called = malloc(sizeof(*called));
    if (!called)
        return false;
    *called = (struct host_function){
        .token = token, .function = function, .data = data, .session = session, .of_graph = true};
    SCOPED_LOCK(&lock);
    add_due(called);
    return true;
}

bool host_function_due(struct box_session *session, const struct wire_host_function *event)
{
    SCOPED_LOCK(&lock);
    struct host_function *found = host_function_take_waiting(event->token);
    // Checked under the lock: once the function is due, the other thread may run and free it.
    if (!found || found->session != session)
        return false;
    found->status = event->status;
    add_due(found);
    return true;
}

bool host_function_ready(void)
{
    SCOPED_LOCK(&lock);
    running = running || thread_start(run_due, NULL);
    return running;
}

// Enters a function that a request is about to name. 0: no thread can be started to call it.
static uint64_t host_function_enter(struct host_function *asked)
{
    if (!host_function_ready())
        return 0;
    SCOPED_LOCK(&lock);
    asked->token = next_token++;
    asked->next = waiting;
    waiting = asked;
    return asked->token;
}

static void host_function_forget(uint64_t token)
{
    SCOPED_LOCK(&lock);
    free(host_function_take_waiting(token));
}

CUresult host_function_launch(CUstream stream, bool per_thread, CUhostFn function,
                              CUstreamCallback callback, void *data)
{
    struct call call;
    call_begin(&call, OP_host_function);
    uint64_t wire = call_stream(&call, per_thread ? stream_per_thread(stream) : stream);
    if (call.result != CUDA_SUCCESS)
        return call.result;
    if (!call.session)
        return call.stale ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    struct host_function *asked = malloc(sizeof(*asked));
    if (!asked)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *asked = (struct host_function){.function = function,
                                    .callback = callback,
                                    .data = data,
                                    .stream = stream,
                                    .session = call.session};
    uint64_t token = host_function_enter(asked);
    if (!token) {
        free(asked);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    session_expect(call.session, 1);
    struct args_host_function *args = call_reserve(&call, sizeof(*args));
    if (!args) {
        session_expect(call.session, -1);
        host_function_forget(token);
        return call.result;
    }
    *args = (struct args_host_function){.token = token,
                                        .stream = wire,
                                        .is_callback = callback != NULL};
    return call_post(&call);
}
