// SPDX-License-Identifier: BSD-3-Clause
// The table by which librgpu opens windows for kernels of other boxes.
#include <stdatomic.h>
#include <stdlib.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/memory/peers.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/scope.h"
#include "common/base/uncancelled.h"
#include "cuda_ops.h"
#include "proto/kernel_table.h"

// A link whose frames this process receives for a window.
struct held_link {
    uint32_t window, peer;
    struct held_link *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct held_link *held;
static atomic_uint last_window;

static CUresult far_kernels_open_window(CUcontext context, CUdeviceptr base, size_t size,
                                        uint32_t blocks, uint32_t tags, uint32_t *window,
                                        CUdeviceptr *proxy_queue)
{
    SCOPED_UNCANCELLED;
    uint64_t address = 0;
    uint32_t number = atomic_fetch_add(&last_window, 1) + 1;
    CUresult result = thread_push_context(context);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_kernel_window_open(number, base, size, blocks, tags, &address);
    thread_pop_context(NULL);
    if (result != CUDA_SUCCESS)
        return result;
    *window = number;
    *proxy_queue = address;
    return CUDA_SUCCESS;
}

static bool far_kernels_keep(uint32_t window, uint32_t peer)
{
    struct held_link *link = malloc(sizeof(*link));
    if (!link)
        return false;
    SCOPED_LOCK(&lock);
    *link = (struct held_link){window, peer, held};
    held = link;
    return true;
}

static CUresult far_kernels_reach(CUcontext context, uint32_t window, uint32_t member,
                                  CUcontext other, uint32_t there)
{
    SCOPED_UNCANCELLED;
    const struct object *from = object_find(HANDLE_CONTEXT, context);
    const struct object *to = object_find(HANDLE_CONTEXT, other);
    uint32_t peer;
    if (!from || !to || from->session == to->session)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = peers_hold(from->session, to->session, &peer);
    if (result != CUDA_SUCCESS)
        return result;
    if (!far_kernels_keep(window, peer)) {
        peers_release(peer);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    result = thread_push_context(context);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_kernel_window_reach(window, member, peer, there);
    thread_pop_context(NULL);
    return result;
}

static CUresult far_kernels_ask(CUcontext context, uint32_t window, bool lose)
{
    SCOPED_UNCANCELLED;
    CUresult result = thread_push_context(context);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_kernel_window_ask(window, lose);
    thread_pop_context(NULL);
    return result;
}

static bool far_kernels_take(uint32_t window, uint32_t *peer)
{
    SCOPED_LOCK(&lock);
    for (struct held_link **at = &held; *at; at = &(*at)->next) {
        struct held_link *link = *at;
        if (link->window != window)
            continue;
        *peer = link->peer;
        *at = link->next;
        free(link);
        return true;
    }
    return false;
}

static void far_kernels_close_window(CUcontext context, uint32_t window)
{
    SCOPED_UNCANCELLED;
    uint32_t peer;
    if (thread_push_context(context) == CUDA_SUCCESS) {
        remote_kernel_window_close(window);
        thread_pop_context(NULL);
    }
    while (far_kernels_take(window, &peer))
        peers_release(peer);
}

RGPU_EXPORT extern const struct kernel_table rgpu_kernel_table;
const struct kernel_table rgpu_kernel_table = {
    .open = far_kernels_open_window,
    .reach = far_kernels_reach,
    .ask = far_kernels_ask,
    .close = far_kernels_close_window,
};
