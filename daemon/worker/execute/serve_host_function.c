// SPDX-License-Identifier: BSD-3-Clause
// Functions of the client in its streams. The driver calls the worker in stream order; the worker
// makes the client call its function, and holds the stream until the client reports the end.
#include "daemon/worker/execute/serve_host_function.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "proto/wire.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/core/expected.h"
#include "daemon/worker/copy/staged/deliver.h"
#include "worker_driver.h"
#include "worker_serve.h"

struct host_call {
    uint64_t token;
    bool is_callback, done;
    struct host_call *next;
};

static struct host_call *calls; // under lock: those whose function the client is running
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;

static void serve_host_function_enter(struct host_call *call)
{
    SCOPED_LOCK(&lock);
    call->next = calls;
    calls = call;
}

// The end of the session is the end of the process, so that the client's word is all there is to
// wait for.
static void await_done(struct host_call *call)
{
    SCOPED_LOCK(&lock);
    while (!call->done)
        pthread_cond_wait(&done, &lock);
    struct host_call **at = &calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
}

static void serve_host_function_run(struct host_call *call, CUresult status)
{
    struct wire_host_function body = {.token = call->token,
                                      .status = (int32_t)status,
                                      .is_callback = call->is_callback};

    deliver_all();
    serve_host_function_enter(call);
    event_send(EVENT_HOST_FUNCTION, &body, sizeof(body), 0);
    await_done(call);
}

static void CUDA_CB serve_host_function_host(void *call)
{
    serve_host_function_run(call, CUDA_SUCCESS);
    free(call);
}

static void CUDA_CB stream_callback(CUstream stream, CUresult status, void *call)
{
    serve_host_function_run(call, status);
    free(call);
}

void host_function_call(uint64_t token)
{
    struct host_call call = {.token = token};

    expected_add();
    serve_host_function_run(&call, CUDA_SUCCESS);
}

void serve_host_function(struct serve *serve, const struct args_host_function *args,
                         CUstream stream)
{
    struct host_call *call = calloc(1, sizeof(*call));

    if (!call)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    // Before the driver may call: the end must not be counted before the beginning.
    expected_add();
    if (!serve_failed(serve)) {
        *call = (struct host_call){.token = args->token, .is_callback = args->is_callback};
        if (args->is_callback)
            serve_fail(serve, driver.cuStreamAddCallback
                                  ? driver.cuStreamAddCallback(stream, stream_callback, call, 0)
                                  : CUDA_ERROR_NOT_SUPPORTED);
        else
            serve_fail(serve, driver.cuLaunchHostFunc
                                  ? driver.cuLaunchHostFunc(stream, serve_host_function_host, call)
                                  : CUDA_ERROR_NOT_SUPPORTED);
    }
    if (serve_failed(serve)) {
        expected_came();
        free(call);
    }
}

void serve_host_function_done(struct serve *serve, const struct args_host_function_done *args)
{
    bool found = false;

    SCOPED_LOCK(&lock);
    for (struct host_call *call = calls; call; call = call->next)
        if (call->token == args->token && !call->done) {
            call->done = found = true;
            break;
        }
    if (found) {
        pthread_cond_broadcast(&done);
        expected_came();
    } else {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    }
}
