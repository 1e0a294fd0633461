// SPDX-License-Identifier: BSD-3-Clause
// Contexts of the session: primary ones, of which the worker has its own reference, and those that
// the client creates.

#include <stdatomic.h>

#include "common/base/log.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/account/array_cost.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/account/passage.h"
#include "daemon/worker/account/pools.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/copy/parts/unanswered.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/suspend/movable_memory.h"
#include "worker_driver.h"
#include "worker_serve.h"

// Drops all state of the worker that refers to a context which is about to be destroyed. Its memory
// counts until the context has ended, since the driver waits for its work first. END is an address
// of the caller that identifies this end.
static void serve_context_forget(CUcontext context, const void *end)
{
    contexts_forget(context);
    allocations_leave_context(context, end);
    charges_leave_context(context, end);
    array_costs_drop(context);
    atomic_fetch_add(&session.memory_epoch, 1);
    atomic_store(&session.deferred, 0); // failures of what was under way there go with it
}

static void context_ended(CUcontext context, const void *end)
{
    passages_end_context(context);
    movable_context_ended(context);
    allocations_left(end);
    charge_drop(end);
}

static void forget_primary_handles(struct serve *serve, CUcontext primary)
{
    uint64_t handle;

    while ((handle = serve_handle_of(HANDLE_CONTEXT, primary)) != 0)
        serve_unbind(serve, HANDLE_CONTEXT, handle);
}

// A primary context, in which our memory is registered if the worker has none yet.
static CUresult first_context(int ordinal, CUcontext *primary)
{
    CUresult result = gpu_primary(ordinal, primary);

    return result == CUDA_SUCCESS ? pinned_register_in(*primary) : result;
}

static void note_context(void *argument, uint64_t handle, void *context)
{
    (void)handle;
    *(bool *)argument |= context != NULL;
}

static bool any_context(void)
{
    bool any = false;

    handle_table_each(session.handles, HANDLE_CONTEXT, note_context, &any);
    return any;
}

// Ends the primary context of a GPU with all that it holds. The next call that needs it makes a
// fresh one: most programs end instead. If other contexts live on, a fresh one holds our memory for
// them.
static CUresult reset_gpu(int ordinal)
{
    struct gpu *device = &gpus.list[ordinal];
    CUcontext old = device->primary, ignored;
    bool held_pinned = old && pinned.owner == old;

    if (!old)
        return CUDA_SUCCESS;
    driver.cuCtxSetCurrent(old);
    if (held_pinned)
        pinned_unregister();
    CUresult result = driver.cuDevicePrimaryCtxReset_v2(device->handle);
    atomic_fetch_add(&session.context_epoch, 1);
    driver.cuCtxSetCurrent(NULL);
    device->primary = NULL;
    if (result != CUDA_SUCCESS)
        return result;
    // Our reference went with the reset in some drivers and not in others.
    driver.cuDevicePrimaryCtxRelease_v2(device->handle);
    // After some errors, such as a failed assertion, the driver makes no other context in this
    // process. The reset has succeeded all the same; the next call that needs a context fails.
    if (held_pinned && any_context())
        (void)first_context(ordinal, &ignored);
    return CUDA_SUCCESS;
}

static void reset_primary(struct serve *serve, int ordinal)
{
    CUcontext primary = gpus.list[ordinal].primary;

    gpus.list[ordinal].retained = 0;
    if (!primary)
        return;
    unanswered_await(serve, primary);
    green_forget_root(serve, primary);
    forget_primary_handles(serve, primary);
    serve_context_forget(primary, serve);
    serve_fail(serve, reset_gpu(ordinal));
    context_ended(primary, serve);
    pools_forget_device(ordinal);
    serve->current = NULL;
}

void serve_cuDevicePrimaryCtxRetain(struct serve *serve,
                                    const struct args_cuDevicePrimaryCtxRetain *args,
                                    CUdevice device)
{
    CUcontext context = NULL;

    int ordinal = session_device_of(device);
    serve_fail(serve, first_context(ordinal, &context));
    if (!serve_failed(serve))
        serve_bind(serve, HANDLE_CONTEXT, args->pctx, context, 0);
    if (!serve_failed(serve))
        gpus.list[ordinal].retained++;
}

// The last reference of the client ends what it made, as if ours did not exist.
void serve_cuDevicePrimaryCtxRelease_v2(struct serve *serve,
                                        const struct args_cuDevicePrimaryCtxRelease_v2 *args)
{
    CUdevice device = serve_device(serve, args->dev);

    if (serve_failed(serve))
        return;
    int ordinal = session_device_of(device);
    if (!gpus.list[ordinal].retained)
        serve_fail(serve, CUDA_ERROR_INVALID_CONTEXT);
    else if (gpus.list[ordinal].retained == 1)
        reset_primary(serve, ordinal);
    else
        gpus.list[ordinal].retained--;
}

void serve_primary_release(struct serve *serve, const struct args_primary_release *args)
{
    serve_cuDevicePrimaryCtxRelease_v2(serve, &(struct args_cuDevicePrimaryCtxRelease_v2){
                                                  .dev = args->dev});
}

void serve_cuDevicePrimaryCtxReset_v2(struct serve *serve,
                                      const struct args_cuDevicePrimaryCtxReset_v2 *args,
                                      CUdevice device)
{
    reset_primary(serve, session_device_of(device));
}

static CUresult serve_context_create(CUcontext *out, unsigned flags, CUdevice device)
{
    if (driver.cuCtxCreate_v4)
        return driver.cuCtxCreate_v4(out, NULL, flags, device);
    if (driver.cuCtxCreate_v2)
        return driver.cuCtxCreate_v2(out, flags, device);
    return CUDA_ERROR_NOT_SUPPORTED;
}

void serve_cuCtxCreate_v4(struct serve *serve, const struct args_cuCtxCreate_v4 *args,
                          CUdevice device)
{
    CUcontext context = NULL, ignored;

    // All other parameters are pointers into the client.
    if (args->ctxCreateParams_given &&
        (args->ctxCreateParams.numExecAffinityParams || args->ctxCreateParams.cigParams))
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    if (serve_failed(serve))
        return;
    int ordinal = session_device_of(device);
    if (!charge_set(serve, 0, NULL, ordinal, gpus.list[ordinal].context_cost)) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return;
    }
    if (!pinned.owner)
        serve_fail(serve, first_context(ordinal, &ignored));
    if (!serve_failed(serve))
        serve_fail(serve, serve_context_create(&context, args->flags, device));
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
    for (int i = 0; i < gpus.count; i++)
        if (gpus.list[i].primary == context)
            return true;
    return false;
}

void serve_cuCtxDestroy_v2(struct serve *serve, const struct args_cuCtxDestroy_v2 *args,
                           CUcontext context)
{
    if (is_primary(context)) {
        serve_fail(serve, CUDA_ERROR_INVALID_CONTEXT);
        return;
    }
    unanswered_await(serve, context);
    driver.cuCtxSetCurrent(context);
    serve_context_forget(context, serve);
    serve_unbind(serve, HANDLE_CONTEXT, args->ctx);
    serve_fail(serve, driver.cuCtxDestroy_v2(context));
    context_ended(context, serve);
    driver.cuCtxSetCurrent(NULL);
    serve->current = NULL;
    atomic_fetch_add(&session.context_epoch, 1);
}

void serve_cuCtxSetLimit(struct serve *serve, const struct args_cuCtxSetLimit *args)
{
    CUdevice handle = 0;
    uint64_t before = 0;

    serve_fail(serve, driver.cuCtxGetDevice(&handle));
    if (serve_failed(serve))
        return;
    int device = session_device_of(handle);
    bool counts = charges_apply(device);
    if (counts &&
        !charge_limit(green_root(serve->current), device, args->limit, args->value, &before)) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return;
    }
    serve_fail(serve, driver.cuCtxSetLimit(args->limit, args->value));
    if (counts && serve_failed(serve))
        charge_limit_back(green_root(serve->current), device, args->limit, before);
}
