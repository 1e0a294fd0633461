// SPDX-License-Identifier: BSD-3-Clause
// Contexts of the session: primary ones, which the worker keeps warm with a reference of its own, and
// those that the client creates.
#include "worker/execute/context.h"

#include <stdlib.h>

#include "common/log.h"
#include "worker/execute/charge.h"
#include "worker/execute/pools.h"
#include "worker_serve.h"

enum { WATCHERS_MAX = 8 };

static void (*watchers[WATCHERS_MAX])(CUcontext context);
static unsigned watcher_count;

void context_watch(void (*forget)(CUcontext context))
{
    if (watcher_count == WATCHERS_MAX) {
        log_error("more than %d parts of the worker watch contexts", WATCHERS_MAX);
        abort();
    }
    watchers[watcher_count++] = forget;
}

// Everything of ours that refers to a context which is going away.
static void forget_context(CUcontext context)
{
    for (unsigned i = 0; i < watcher_count; i++)
        watchers[i](context);
    allocation_remove_context(context);
    charge_drop_context(context);
    atomic_fetch_add(&session.memory_epoch, 1);
    atomic_store(&session.deferred, 0); // failures of what was under way there go with it
}

static void forget_primary_handles(struct serve *serve, CUcontext primary)
{
    uint64_t handle;

    while ((handle = serve_handle_of(HANDLE_CONTEXT, primary)) != 0)
        serve_unbind(serve, HANDLE_CONTEXT, handle);
}

static void reset_primary(struct serve *serve, int ordinal)
{
    CUcontext primary = devices.list[ordinal].primary;

    devices.list[ordinal].retained = 0;
    if (!primary)
        return;
    forget_primary_handles(serve, primary);
    forget_context(primary);
    serve_fail(serve, device_reset(ordinal));
    pools_forget_device(ordinal);
    serve->current = NULL;
}

void serve_cuDevicePrimaryCtxRetain(struct serve *serve,
                                    const struct args_cuDevicePrimaryCtxRetain *args)
{
    CUdevice device = serve_device(serve, args->dev);
    CUcontext context = NULL;

    if (serve_failed(serve))
        return;
    int ordinal = session_device_of(device);
    serve_fail(serve, device_primary(ordinal, &context));
    if (!serve_failed(serve))
        serve_bind(serve, HANDLE_CONTEXT, args->pctx, context, 0);
    if (!serve_failed(serve))
        devices.list[ordinal].retained++;
}

// The last reference of the client ends what it made, as if ours did not exist.
void serve_cuDevicePrimaryCtxRelease_v2(struct serve *serve,
                                        const struct args_cuDevicePrimaryCtxRelease_v2 *args)
{
    CUdevice device = serve_device(serve, args->dev);

    if (serve_failed(serve))
        return;
    int ordinal = session_device_of(device);
    if (!devices.list[ordinal].retained)
        serve_fail(serve, CUDA_ERROR_INVALID_CONTEXT);
    else if (devices.list[ordinal].retained == 1)
        reset_primary(serve, ordinal);
    else
        devices.list[ordinal].retained--;
}

void serve_cuDevicePrimaryCtxReset_v2(struct serve *serve,
                                      const struct args_cuDevicePrimaryCtxReset_v2 *args)
{
    CUdevice device = serve_device(serve, args->dev);

    if (!serve_failed(serve))
        reset_primary(serve, session_device_of(device));
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice device)
{
    if (driver.cuCtxCreate_v4)
        return driver.cuCtxCreate_v4(out, NULL, flags, device);
    if (driver.cuCtxCreate_v2)
        return driver.cuCtxCreate_v2(out, flags, device);
    return CUDA_ERROR_NOT_SUPPORTED;
}

void serve_cuCtxCreate_v4(struct serve *serve, const struct args_cuCtxCreate_v4 *args)
{
    CUdevice device = serve_device(serve, args->dev);
    CUcontext context = NULL, ignored;

    // What else the parameters can hold are pointers into the client.
    if (args->ctxCreateParams_given &&
        (args->ctxCreateParams.numExecAffinityParams || args->ctxCreateParams.cigParams))
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    if (serve_failed(serve))
        return;
    int ordinal = session_device_of(device);
    if (!charge_set(serve, 0, NULL, ordinal, devices.list[ordinal].context_cost)) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return;
    }
    serve_fail(serve, create(&context, args->flags, device));
    if (serve_failed(serve)) {
        charge_drop(serve);
        return;
    }
    // Creating pushes; which context is current is said with each request.
    driver.cuCtxPopCurrent_v2(&ignored);
    charge_rename(serve, context);
    serve_bind(serve, HANDLE_CONTEXT, args->pctx, context, 0);
    if (serve_failed(serve)) {
        charge_drop(context);
        driver.cuCtxDestroy_v2(context);
    }
}

static bool is_primary(CUcontext context)
{
    for (int i = 0; i < devices.count; i++)
        if (devices.list[i].primary == context)
            return true;
    return false;
}

void serve_cuCtxDestroy_v2(struct serve *serve, const struct args_cuCtxDestroy_v2 *args)
{
    CUcontext context = serve_handle(serve, HANDLE_CONTEXT, args->ctx);

    if (serve_failed(serve))
        return;
    if (is_primary(context)) {
        serve_fail(serve, CUDA_ERROR_INVALID_CONTEXT);
        return;
    }
    driver.cuCtxSetCurrent(context);
    forget_context(context);
    serve_unbind(serve, HANDLE_CONTEXT, args->ctx);
    serve_fail(serve, driver.cuCtxDestroy_v2(context));
    charge_drop(context);
    driver.cuCtxSetCurrent(NULL);
    serve->current = NULL;
    atomic_fetch_add(&session.context_epoch, 1);
}
