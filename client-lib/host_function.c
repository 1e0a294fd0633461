// Host functions and stream callbacks run in one thread, in the order in which streams come to
// them. Each has a token of its own, so the same function with other data is another one.
#include "client-lib/host_function.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "client-lib/call.h"
#include "client-lib/copyout.h"
#include "client-lib/exports.h"
#include "client-lib/stream.h"
#include "common/log.h"

struct host_function {
    uint64_t token;
    CUhostFn function;
    CUstreamCallback callback; // instead of function
    void *data;
    CUstream stream; // as the program named it
    struct session *session;
    int32_t status;
    struct host_function *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t due_now = PTHREAD_COND_INITIALIZER;
static struct host_function *waiting; // sent, not due yet
static struct host_function *due, **due_end = &due;
static uint64_t next_token = 1;
static bool running;

static void tell_done(const struct host_function *called)
{
    struct call call = {.session = called->session, .op = OP_host_function_done};
    struct args_host_function_done *args = call_reserve(&call, sizeof(*args));
    if (!args)
        return; // the session is lost, and the stream with it
    args->token = called->token;
    call_post(&call);
    link_flush(called->session->link);
}

static void *run_due(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!due)
            pthread_cond_wait(&due_now, &lock);
        struct host_function *called = due;
        due = called->next;
        if (!due)
            due_end = &due;
        pthread_mutex_unlock(&lock);

        copyout_deliver(called->session);
        if (called->callback)
            called->callback(called->stream, (CUresult)called->status, called->data);
        else
            called->function(called->data);
        tell_done(called);
        session_expect(called->session, -1);
        free(called);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

static CUresult start_thread(void)
{
    pthread_t thread;
    sigset_t all, old;
    if (running)
        return CUDA_SUCCESS;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    running = pthread_create(&thread, NULL, run_due, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!running)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_detach(thread);
    return CUDA_SUCCESS;
}

static struct host_function *take_waiting(uint64_t token)
{
    struct host_function **at = &waiting;
    while (*at && (*at)->token != token)
        at = &(*at)->next;
    struct host_function *found = *at;
    if (found)
        *at = found->next;
    return found;
}

void host_function_due(struct session *session, const struct wire_host_function *event)
{
    pthread_mutex_lock(&lock);
    struct host_function *found = take_waiting(event->token);
    // Found out under the lock: once it is due, the other thread may be through with it and free it.
    bool right = found && found->session == session;
    if (right) {
        found->status = event->status;
        found->next = NULL;
        *due_end = found;
        due_end = &found->next;
        pthread_cond_signal(&due_now);
    }
    pthread_mutex_unlock(&lock);
    if (!right)
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE,
                     "a host function that was not asked for");
}

static CUresult ask(CUstream stream, CUhostFn function, CUstreamCallback callback, void *data,
                    bool per_thread)
{
    if (!function && !callback)
        return CUDA_ERROR_INVALID_VALUE;
    struct call call;
    call_begin(&call, OP_host_function);
    uint64_t wire = call_stream(&call, stream, per_thread);
    if (call.result != CUDA_SUCCESS)
        return call.result;
    if (!call.session)
        return call.stale ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    struct host_function *asked = malloc(sizeof(*asked));
    if (!asked)
        return CUDA_ERROR_OUT_OF_MEMORY;

    pthread_mutex_lock(&lock);
    call.result = start_thread();
    if (call.result != CUDA_SUCCESS) {
        pthread_mutex_unlock(&lock);
        free(asked);
        return call.result;
    }
    *asked = (struct host_function){.token = next_token++, .function = function,
                                    .callback = callback, .data = data, .stream = stream,
                                    .session = call.session, .next = waiting};
    uint64_t token = asked->token;
    waiting = asked;
    pthread_mutex_unlock(&lock);

    session_expect(call.session, 1);
    struct args_host_function *args = call_reserve(&call, sizeof(*args));
    if (!args) {
        session_expect(call.session, -1);
        pthread_mutex_lock(&lock);
        free(take_waiting(token));
        pthread_mutex_unlock(&lock);
        return call.result;
    }
    *args = (struct args_host_function){.token = token, .stream = wire,
                                        .is_callback = callback != NULL};
    return call_post(&call);
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    return ask(hStream, fn, NULL, userData, false);
}

CUresult cuLaunchHostFunc_ptsz(CUstream hStream, CUhostFn fn, void *userData)
{
    return ask(hStream, fn, NULL, userData, true);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                             unsigned int flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : ask(hStream, NULL, callback, userData, false);
}

CUresult cuStreamAddCallback_ptsz(CUstream hStream, CUstreamCallback callback, void *userData,
                                  unsigned int flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : ask(hStream, NULL, callback, userData, true);
}
