// SPDX-License-Identifier: BSD-3-Clause
// A green context is some of a GPU's multiprocessors, with its own streams in the primary context.
#include "daemon/worker/execute/serve_green.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"
#include "proto/wire.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/account/passage.h"
#include "daemon/worker/copy/parts/unanswered.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/execute/green_resources.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/request/serve.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum { RESOURCES_MAX = 256 };

struct green {
    CUgreenCtx green;
    CUcontext context, root;
    struct green *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct green *greens; // under lock
static _Atomic unsigned green_count;

// The lock is held.
static struct green **serve_green_find(CUcontext context)
{
    struct green **at = &greens;

    while (*at && (*at)->context != context)
        at = &(*at)->next;
    return at;
}

CUcontext green_root(CUcontext context)
{
    if (!atomic_load_explicit(&green_count, memory_order_relaxed))
        return context;
    SCOPED_LOCK(&lock);
    const struct green *found = *serve_green_find(context);
    return found ? found->root : context;
}

static CUgreenCtx serve_green_of(struct serve *serve, uint64_t handle)
{
    CUcontext context = serve_handle(serve, HANDLE_CONTEXT, handle);

    if (serve_failed(serve))
        return NULL;
    SCOPED_LOCK(&lock);
    const struct green *found = *serve_green_find(context);
    if (!found)
        serve_fail(serve, CUDA_ERROR_INVALID_CONTEXT);
    return found ? found->green : NULL;
}

// ---- resources ----

static void serve_green_give(struct serve *serve, const CUdevResource *resources, size_t count)
{
    if (!serve_failed(serve))
        resources_given(resources, count);
}

void serve_device_resource(struct serve *serve, const struct args_device_resource *args,
                           struct reply_device_resource *reply, CUdevice device)
{
    serve_fail(serve, driver.cuDeviceGetDevResource(device, &reply->resource,
                                                    (CUdevResourceType)args->type));
    serve_green_give(serve, &reply->resource, 1);
}

void serve_context_resource(struct serve *serve, const struct args_context_resource *args,
                            struct reply_context_resource *reply, CUcontext context)
{
    serve_fail(serve, driver.cuCtxGetDevResource(context, &reply->resource,
                                                 (CUdevResourceType)args->type));
    serve_green_give(serve, &reply->resource, 1);
}

void serve_resource_split(struct serve *serve, const struct args_resource_split *args,
                          struct reply_resource_split *reply)
{
    CUdevResource *groups = (void *)serve->bytes;
    CUdevResource input = args->input;
    unsigned int count = args->room;

    serve_device(serve, args->dev);
    if (args->room > RESOURCES_MAX || args->room * sizeof(*groups) > WIRE_INLINE_MAX)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else if (!resources_are_given(&input, 1))
        serve_fail(serve, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    if (serve_failed(serve) || !serve_require(serve, driver.cuDevSmResourceSplitByCount))
        return;
    memset(groups, 0, args->room * sizeof(*groups));
    serve_fail(serve,
               driver.cuDevSmResourceSplitByCount(args->room ? groups : NULL, &count, &input,
                                                  &reply->remaining, args->flags, args->minimum));
    reply->groups = count;
    const uint32_t given = count < args->room ? count : args->room;
    serve_green_give(serve, groups, given);
    serve_green_give(serve, &reply->remaining, 1);
    if (!serve_failed(serve))
        serve->bytes_size = (uint32_t)(given * sizeof(*groups));
}

// The driver never ends a description, so each is made once for the check and once for a context.
static CUdevResourceDesc serve_green_describe(struct serve *serve, const void *data, uint32_t bytes)
{
    CUdevResource resources[RESOURCES_MAX];
    CUdevResourceDesc made = NULL;

    if (!bytes)
        return NULL;
    if (bytes % sizeof(resources[0]) || bytes > sizeof(resources))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (serve_failed(serve) || !serve_require(serve, driver.cuDevResourceGenerateDesc))
        return NULL;
    memcpy(resources, data, bytes);
    const unsigned int count = (unsigned int)(bytes / sizeof(resources[0]));
    serve_fail(serve, resources_are_given(resources, count)
                          ? driver.cuDevResourceGenerateDesc(&made, resources, count)
                          : CUDA_ERROR_INVALID_RESOURCE_TYPE);
    return made;
}

void serve_resource_check(struct serve *serve, const struct args_resource_check *args)
{
    serve_device(serve, args->dev);
    if (!args->bytes)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    serve_green_describe(serve, args + 1, args->bytes);
}

// ---- contexts ----

static void serve_green_enter(struct serve *serve, uint64_t handle, CUgreenCtx green,
                              CUcontext root)
{
    struct green *made = malloc(sizeof(*made));

    if (made && serve_require(serve, driver.cuCtxFromGreenCtx)) {
        *made = (struct green){.green = green, .root = root};
        serve_fail(serve, driver.cuCtxFromGreenCtx(&made->context, green));
    } else {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (!serve_failed(serve))
        serve_bind(serve, HANDLE_CONTEXT, handle, made->context, 0);
    if (serve_failed(serve)) {
        driver.cuGreenCtxDestroy(green);
        free(made);
        return;
    }
    SCOPED_LOCK(&lock);
    made->next = greens;
    greens = made;
    atomic_fetch_add(&green_count, 1);
}

void serve_green_create(struct serve *serve, const struct args_green_create *args, CUdevice device)
{
    CUcontext root = NULL;
    CUgreenCtx green = NULL;

    serve_fail(serve, gpu_primary(session_device_of(device), &root));
    CUdevResourceDesc description = serve_green_describe(serve, args + 1, args->bytes);
    if (serve_failed(serve) || !serve_require(serve, driver.cuGreenCtxCreate) ||
        !serve_require(serve, driver.cuGreenCtxDestroy))
        return;
    serve_fail(serve, driver.cuGreenCtxCreate(&green, description, device, args->flags));
    if (!serve_failed(serve))
        serve_green_enter(serve, args->context, green, root);
}

// Takes the one at *AT out of the list; NULL: there is none. The lock is held.
static struct green *take_at(struct green **at)
{
    struct green *found = *at;

    if (found) {
        *at = found->next;
        atomic_fetch_sub(&green_count, 1);
    }
    return found;
}

static struct green *serve_green_take(CUcontext context)
{
    SCOPED_LOCK(&lock);
    return take_at(serve_green_find(context));
}

static struct green *take_of_root(CUcontext root)
{
    SCOPED_LOCK(&lock);
    struct green **at = &greens;
    while (*at && (*at)->root != root)
        at = &(*at)->next;
    return take_at(at);
}

void green_forget_root(struct serve *serve, CUcontext root)
{
    struct green *gone;

    while ((gone = take_of_root(root))) {
        contexts_forget(gone->context);
        charges_leave_context(gone->context, root);
        passages_end_with(gone->context, root);
        serve_unbind(serve, HANDLE_CONTEXT, serve_handle_of(HANDLE_CONTEXT, gone->context));
        free(gone);
    }
}

void serve_green_destroy(struct serve *serve, const struct args_green_destroy *args,
                         CUcontext context)
{
    SCOPED_FREE struct green *gone = serve_failed(serve) ? NULL : serve_green_take(context);

    if (serve_failed(serve))
        return;
    if (!gone) {
        serve_fail(serve, CUDA_ERROR_INVALID_CONTEXT);
        return;
    }
    unanswered_await(serve, context);
    driver.cuCtxSetCurrent(context);
    contexts_forget(context);
    charges_leave_context(context, serve);
    serve_unbind(serve, HANDLE_CONTEXT, args->context);
    driver.cuCtxSetCurrent(gone->root);
    serve_fail(serve, driver.cuGreenCtxDestroy(gone->green));
    passages_end_context(context);
    charge_drop(serve);
    driver.cuCtxSetCurrent(NULL);
    serve->current = NULL;
    atomic_fetch_add(&session.context_epoch, 1);
}

// ---- events ----

void serve_green_record(struct serve *serve, const struct args_green_record *args, CUevent event)
{
    CUgreenCtx green = serve_green_of(serve, args->context);

    if (!serve_failed(serve) && serve_require(serve, driver.cuGreenCtxRecordEvent))
        serve_fail(serve, driver.cuGreenCtxRecordEvent(green, event));
}

void serve_green_wait(struct serve *serve, const struct args_green_wait *args, CUevent event)
{
    CUgreenCtx green = serve_green_of(serve, args->context);

    if (!serve_failed(serve) && serve_require(serve, driver.cuGreenCtxWaitEvent))
        serve_fail(serve, driver.cuGreenCtxWaitEvent(green, event));
}
