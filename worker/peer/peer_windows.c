// SPDX-License-Identifier: BSD-3-Clause
#include "worker/peer/peer_windows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/scope.h"
#include "worker/account/allocation.h"
#include "worker/context_watchers.h"
#include "worker/peer/peer_link.h"
#include "worker/session.h"
#include "worker/setup.h"
#include "worker_driver.h"
#include "worker_serve.h"

struct mapped_window {
    uint32_t peer;
    CUdeviceptr address;
    CUcontext context; // in which it is mapped
    struct mapped_window *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapped_window *windows;

_Static_assert(sizeof(CUipcMemHandle) == sizeof(((struct wire_peer_memory *)0)->handle),
               "what travels is a handle");

// A handle carries no lease and no charge, so a box shows and maps memory only where its administrator has said so.
static bool allowed(struct serve *serve)
{
    if (!setup.peer_gpus)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    return setup.peer_gpus;
}

// ---- showing ----

void serve_peer_show(struct serve *serve, const struct args_peer_show *args)
{
    struct wire_peer_memory memory = {0};
    CUipcMemHandle handle;
    CUcontext context;
    uint64_t end = 0;

    if (!allowed(serve) || !serve_require(serve, driver.cuIpcGetMemHandle))
        return;
    if (!allocation_is_plain(args->address, &memory.base, &end, &context)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    memory.size = end - memory.base;
    serve_fail(serve, driver.cuIpcGetMemHandle(&handle, memory.base));
    memcpy(memory.handle, &handle, sizeof(handle));
    if (!serve_failed(serve))
        serve_reply_bytes(serve, &memory, sizeof(memory));
}

// ---- mapping ----

static bool keep(uint32_t peer, CUdeviceptr address, CUcontext context)
{
    struct mapped_window *window = malloc(sizeof(*window));

    if (!window)
        return false;
    SCOPED_LOCK(&lock);
    *window = (struct mapped_window){peer, address, context, windows};
    windows = window;
    return true;
}

static void note_reached(uint32_t peer)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(peer);
    if (!link || link->reaches)
        return;
    link->reaches = true;
    peer_links_tell();
}

void serve_peer_map(struct serve *serve, const struct args_peer_map *args,
                    struct reply_peer_map *reply)
{
    const struct wire_peer_memory *memory = (const void *)(args + 1);
    CUipcMemHandle handle;
    CUdeviceptr address = 0;

    if (!allowed(serve) || !serve_require(serve, driver.cuIpcOpenMemHandle_v2))
        return;
    if (args->bytes != sizeof(*memory)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    memcpy(&handle, memory->handle, sizeof(handle));
    serve_fail(serve,
               driver.cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    if (!serve_failed(serve) && !keep(args->peer, address, serve->current)) {
        driver.cuIpcCloseMemHandle(address);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (!serve_failed(serve))
        note_reached(args->peer);
    reply->address = address;
}

// ---- the end ----

// Takes out the first that is of PEER and, unless that is 0, at ADDRESS.
static struct mapped_window *take(uint32_t peer, CUdeviceptr address)
{
    SCOPED_LOCK(&lock);
    struct mapped_window **at = &windows;
    while (*at && ((*at)->peer != peer || (address && (*at)->address != address)))
        at = &(*at)->next;
    struct mapped_window *window = *at;
    if (window)
        *at = window->next;
    return window;
}

static void close_window(struct mapped_window *window)
{
    if (driver.cuCtxSetCurrent(window->context) == CUDA_SUCCESS)
        driver.cuIpcCloseMemHandle(window->address);
    free(window);
    atomic_fetch_add(&session.memory_epoch, 1);
}

void serve_peer_unmap(struct serve *serve, const struct args_peer_unmap *args)
{
    struct mapped_window *window = take(args->peer, args->address);

    if (!window)
        return; // it has gone with its context, or with the other box
    close_window(window);
    driver.cuCtxSetCurrent(serve->current);
}

static void *close_all(void *peer)
{
    struct mapped_window *window;

    while ((window = take((uint32_t)(uintptr_t)peer, 0)))
        close_window(window);
    return NULL;
}

// The driver may wait for what is still copied there.
void peer_windows_drop(uint32_t peer)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, close_all, (void *)(uintptr_t)peer))
        log_warn("memory of another box's GPU stays mapped peer=%u", peer);
    else
        pthread_detach(thread);
}

static void forget_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct mapped_window **at = &windows; *at;) {
        struct mapped_window *window = *at;
        if (window->context == context) {
            *at = window->next;
            free(window);
        } else {
            at = &window->next;
        }
    }
}

void peer_windows_prepare(void)
{
    context_watch(forget_context);
}
