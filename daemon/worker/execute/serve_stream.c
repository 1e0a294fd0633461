// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys streams, whose memory counts against the budget, and answers whether streams
// and events are done.
#include "daemon/worker/account/passage.h"
#include "daemon/worker/account/stream_cost.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

static struct stream_cost *count_stream(struct serve *serve)
{
    struct stream_cost *cost = NULL;
    CUdevice device = 0;

    serve_fail(serve, driver.cuCtxGetDevice(&device));
    if (!serve_failed(serve))
        serve_fail(serve, stream_cost_take(serve->current, green_root(serve->current),
                                           session_device_of(device), &cost));
    return cost;
}

static void enter_stream(struct serve *serve, uint64_t handle, CUstream stream,
                         struct stream_cost *cost)
{
    if (serve_failed(serve)) {
        stream_cost_give(cost);
        return;
    }
    stream_cost_is(cost, stream);
    serve_bind(serve, HANDLE_STREAM, handle, stream, serve_context(serve));
}

void serve_cuStreamCreate(struct serve *serve, const struct args_cuStreamCreate *args)
{
    CUstream stream = NULL;

    struct stream_cost *cost = count_stream(serve);
    if (!serve_failed(serve))
        serve_fail(serve, driver.cuStreamCreate(&stream, args->Flags));
    enter_stream(serve, args->phStream, stream, cost);
}

void serve_cuStreamCreateWithPriority(struct serve *serve,
                                      const struct args_cuStreamCreateWithPriority *args)
{
    CUstream stream = NULL;

    struct stream_cost *cost = count_stream(serve);
    if (!serve_failed(serve))
        serve_fail(serve, driver.cuStreamCreateWithPriority(&stream, args->flags, args->priority));
    enter_stream(serve, args->phStream, stream, cost);
}

void serve_cuStreamDestroy_v2(struct serve *serve, const struct args_cuStreamDestroy_v2 *args,
                              CUstream stream)
{
    // The default streams cannot be destroyed.
    if (args->hStream <= 1)
        serve_fail(serve, CUDA_ERROR_INVALID_HANDLE);
    if (!serve_require(serve, driver.cuStreamDestroy_v2))
        return;
    // The driver keeps a stream until its work is done.
    struct passage *passage = session.budgeted ? passage_begin(serve->current, stream) : NULL;
    serve_fail(serve, driver.cuStreamDestroy_v2(stream));
    if (serve_failed(serve))
        passage_end(passage);
    else
        stream_cost_end(stream, passage);
    serve_unbind(serve, HANDLE_STREAM, args->hStream);
}

// ---- questions ----

static CUresult ask_stream(struct serve *serve, const void *stream)
{
    return driver.cuStreamQuery((CUstream)stream);
}

void serve_cuStreamQuery(struct serve *serve, const struct args_cuStreamQuery *args,
                         CUstream stream)
{
    if (serve_require(serve, driver.cuStreamQuery))
        serve_fail(serve, serve_ask_for_change(serve, ask_stream, stream));
}

static CUresult ask_event(struct serve *serve, const void *event)
{
    return driver.cuEventQuery((CUevent)event);
}

void serve_cuEventQuery(struct serve *serve, const struct args_cuEventQuery *args, CUevent event)
{
    if (serve_require(serve, driver.cuEventQuery))
        serve_fail(serve, serve_ask_for_change(serve, ask_event, event));
}
