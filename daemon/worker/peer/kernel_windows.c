// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/kernel_windows.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/peer/far_puts.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum {
    WINDOWS_MAX = 64,
    BLOCKS_MAX = 65535,
    TAGS_MAX = 256,
    COUNTERS_MAX = 1 << 20, // 4 MiB of page-locked memory
    LAUNCHES_MAX = 32,      // streams whose kernels are waited for
    ASK_EVERY_US = 500,     // whether they still run
};

struct kernel_window *kernel_windows;
atomic_bool kernel_windows_open;
static unsigned window_count;

// ---- which kernels run ----

// The last kernel of a stream.
struct noted_launch {
    CUcontext context; // NULL: unused
    CUstream stream;
    CUevent behind;
    bool runs;
};
static struct noted_launch launches[LAUNCHES_MAX];
static pthread_mutex_t launch_lock =
    PTHREAD_MUTEX_INITIALIZER; // of `launches`; taken inside peer_mover's, or alone
static atomic_uint running;
static uint64_t asked_us;

static bool has_window(CUcontext context)
{
    for (const struct kernel_window *window = kernel_windows; window; window = window->next_window)
        if (window->context == context)
            return true;
    return false;
}

static struct noted_launch *place_for(CUcontext context, CUstream stream)
{
    struct noted_launch *place = NULL;

    for (struct noted_launch *at = launches; at < launches + LAUNCHES_MAX; at++) {
        if (at->context == context && at->stream == stream)
            return at;
        if (!at->runs && (!place || !at->context))
            place = at;
    }
    return place;
}

static void forget_launch(struct noted_launch *launch)
{
    atomic_fetch_sub(&running, launch->runs);
    if (launch->context)
        driver.cuEventDestroy_v2(launch->behind);
    *launch = (struct noted_launch){0};
}

// The place of another stream, of this context or not, is taken over.
static bool begin_launch(struct noted_launch *launch, CUcontext context, CUstream stream)
{
    if (launch->context && launch->context != context)
        forget_launch(launch);
    if (!launch->context && driver.cuEventCreate(&launch->behind, CU_EVENT_DISABLE_TIMING))
        return false;
    launch->context = context;
    launch->stream = stream;
    return driver.cuEventRecord(launch->behind, stream) == CUDA_SUCCESS;
}

static void keep_launch(CUcontext context, CUstream stream)
{
    SCOPED_LOCK(&launch_lock);
    struct noted_launch *launch = place_for(context, stream);
    if (!launch || !begin_launch(launch, context, stream))
        return;
    atomic_fetch_add(&running, !launch->runs);
    launch->runs = true;
}

void kernel_windows_launched(CUcontext context, CUstream stream)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    bool concerned;

    if (driver.cuStreamIsCapturing(stream, &capture) != CUDA_SUCCESS ||
        capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return;
    {
        SCOPED_LOCK(&peer_mover.lock);
        concerned = has_window(context);
    }
    if (!concerned)
        return;
    keep_launch(context, stream);
    SCOPED_LOCK(&peer_mover.lock);
    pthread_cond_signal(&peer_mover.added);
}

static void ask_launches(void)
{
    for (struct noted_launch *at = launches; at < launches + LAUNCHES_MAX; at++) {
        if (!at->runs || mover_enter(&peer_mover, at->context) != CUDA_SUCCESS ||
            driver.cuEventQuery(at->behind) == CUDA_ERROR_NOT_READY)
            continue;
        at->runs = false;
        atomic_fetch_sub(&running, 1);
    }
}

// While a launch is noted, which may wait until its stream has room, some kernel runs.
bool kernel_windows_run(void)
{
    uint64_t now = atomic_load(&running) ? clock_us() : 0;

    if (now && now - asked_us >= ASK_EVERY_US && !pthread_mutex_trylock(&launch_lock)) {
        asked_us = now;
        ask_launches();
        pthread_mutex_unlock(&launch_lock);
    }
    return atomic_load(&running);
}

bool kernel_windows_may_run(void)
{
    return atomic_load(&running);
}

// ---- windows ----

struct kernel_window *kernel_window_find(uint32_t number)
{
    struct kernel_window *window = kernel_windows;

    while (window && window->number != number)
        window = window->next_window;
    return window;
}

bool kernel_window_holds(struct kernel_window *window, uint64_t offset, uint64_t bytes)
{
    uint32_t epoch = atomic_load_explicit(&session.memory_epoch, memory_order_acquire);
    uint64_t start, end;

    if (offset > window->size || bytes > window->size - offset)
        return false;
    if (!bytes || window->epoch == epoch)
        return true;
    if (!serve_find_range(window->base, &start, &end) || end - window->base < window->size)
        return false;
    window->epoch = epoch;
    return true;
}

void kernel_window_end_put_request(struct kernel_window *window, uint32_t block)
{
    if (block < window->blocks)
        __atomic_fetch_add(&window->proxy_queue->counters[block], 1, __ATOMIC_RELEASE);
}

static uint32_t signal_count(const struct kernel_window *window)
{
    return window->blocks * window->tags + 1; // and the barrier's
}

uint32_t *kernel_window_signals(struct kernel_window *window, uint32_t block, int32_t tag)
{
    if (tag == WIRE_PUT_REQUEST_BARRIER)
        return &window->signals[signal_count(window) - 1];
    if (block >= window->blocks || tag < 0 || (uint32_t)tag >= window->tags)
        return NULL;
    return &window->signals[block * window->tags + (uint32_t)tag];
}

static size_t counter_of(const struct kernel_window *window, const uint32_t *signals)
{
    return window->blocks + (size_t)(signals - window->signals);
}

CUdeviceptr kernel_window_counter(const struct kernel_window *window, const uint32_t *signals)
{
    return window->counters + counter_of(window, signals) * sizeof(*signals);
}

void kernel_window_tell(struct kernel_window *window, const uint32_t *signals)
{
    // The GPU sees what was written before.
    __atomic_store_n(&window->proxy_queue->counters[counter_of(window, signals)], *signals,
                     __ATOMIC_RELEASE);
}

static void lose(struct kernel_window *window)
{
    __atomic_store_n(&window->proxy_queue->lost, 1, __ATOMIC_RELEASE);
}

void kernel_windows_lose(uint32_t peer)
{
    for (struct kernel_window *window = kernel_windows; window; window = window->next_window)
        for (int i = 0; i < KERNEL_MEMBERS_MAX; i++)
            if (window->members[i].is_far && window->members[i].peer == peer)
                lose(window);
}

// ---- requests ----

static struct wire_proxy_queue *make_proxy_queue(struct serve *serve, uint64_t counters)
{
    size_t size = sizeof(struct wire_proxy_queue) + counters * sizeof(uint32_t);
    void *memory = NULL;

    if (serve_require(serve, driver.cuMemHostAlloc))
        serve_fail(serve,
                   driver.cuMemHostAlloc(&memory, size,
                                         CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    if (memory)
        memset(memory, 0, size);
    return memory;
}

// False: the client has no such number left, or has too many.
static bool add_window(struct kernel_window *window)
{
    SCOPED_LOCK(&peer_mover.lock);
    if (window_count == WINDOWS_MAX || kernel_window_find(window->number))
        return false;
    window->next_window = kernel_windows;
    kernel_windows = window;
    window_count++;
    atomic_store(&kernel_windows_open, true);
    return true;
}

static void kernel_windows_free_window(struct kernel_window *window)
{
    free(window->signals);
    free(window);
}

static void kernel_windows_open_window(struct serve *serve, struct kernel_window *window,
                                       uint64_t *proxy_queue)
{
    CUdeviceptr address = 0;

    window->proxy_queue = make_proxy_queue(serve, window->blocks + signal_count(window));
    if (!serve_failed(serve) && serve_require(serve, driver.cuMemHostGetDevicePointer_v2) &&
        serve_require(serve, driver.cuStreamBatchMemOp_v2))
        serve_fail(serve, driver.cuMemHostGetDevicePointer_v2(&address, window->proxy_queue, 0));
    window->counters = address + offsetof(struct wire_proxy_queue, counters);
    if (!serve_failed(serve))
        serve_fail(serve, far_puts_ready(window));
    if (!serve_failed(serve) && !add_window(window))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve))
        *proxy_queue = address;
    else if (window->proxy_queue)
        driver.cuMemFreeHost(window->proxy_queue);
}

void serve_kernel_window_open(struct serve *serve, const struct args_kernel_window_open *args,
                              struct reply_kernel_window_open *reply)
{
    if (!args->window || !args->blocks || args->blocks > BLOCKS_MAX || !args->tags ||
        args->tags > TAGS_MAX || (uint64_t)args->blocks * (args->tags + 1) >= COUNTERS_MAX ||
        !serve->current)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else if (args->size)
        serve_device_range(serve, args->base, args->size);
    if (serve_failed(serve))
        return;
    struct kernel_window *window = calloc(1, sizeof(*window));
    if (!window) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return;
    }
    window->number = args->window;
    window->context = serve->current;
    window->base = args->base;
    window->size = args->size;
    window->blocks = args->blocks;
    window->tags = args->tags;
    window->epoch = atomic_load(&session.memory_epoch) - 1;
    window->signals = calloc(signal_count(window), sizeof(*window->signals));
    if (window->signals)
        kernel_windows_open_window(serve, window, &reply->proxy_queue);
    else
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (serve_failed(serve))
        kernel_windows_free_window(window);
}

void serve_kernel_window_reach(struct serve *serve, const struct args_kernel_window_reach *args)
{
    CUcontext context = NULL;
    {
        SCOPED_LOCK(&peer_mover.lock);
        struct kernel_window *window = kernel_window_find(args->window);
        struct peer_link *link = peer_link_find(args->peer);
        if (!window || !link || args->member >= KERNEL_MEMBERS_MAX) {
            serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
            return;
        }
        window->members[args->member].is_far = true;
        window->members[args->member].peer = args->peer;
        window->members[args->member].there = args->there;
        if (link->lost != CUDA_SUCCESS)
            lose(window);
        context = window->context;
    }
    // Makes the driver create its resources for copies now, since it may wait for kernels to create
    // them.
    serve_fail(serve, driver.cuCtxSetCurrent(context));
    if (!serve_failed(serve))
        serve_fail(serve, far_puts_warm(args->peer, context));
    driver.cuCtxSetCurrent(serve->current);
}

static bool is_in_use(CUcontext context)
{
    SCOPED_LOCK(&launch_lock);
    for (struct noted_launch *at = launches; at < launches + LAUNCHES_MAX; at++)
        if (at->runs && at->context == context &&
            driver.cuEventQuery(at->behind) == CUDA_ERROR_NOT_READY)
            return true;
    return false;
}

static void kernel_windows_take_off(struct kernel_window *window)
{
    struct kernel_window **at = &kernel_windows;

    while (*at != window)
        at = &(*at)->next_window;
    *at = window->next_window;
    window_count--;
    atomic_store(&kernel_windows_open, window_count != 0);
}

void serve_kernel_window_ask(struct serve *serve, const struct args_kernel_window_ask *args)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct kernel_window *window = kernel_window_find(args->window);
    if (!window)
        return; // it has gone with its context
    if (args->lose)
        lose(window);
    driver.cuCtxSetCurrent(window->context);
    if (is_in_use(window->context))
        serve_fail(serve, CUDA_ERROR_NOT_READY);
    driver.cuCtxSetCurrent(serve->current);
}

static struct kernel_window *take_window(uint32_t number)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct kernel_window *window = kernel_window_find(number);
    if (window)
        kernel_windows_take_off(window);
    return window;
}

void serve_kernel_window_close(struct serve *serve, const struct args_kernel_window_close *args)
{
    struct kernel_window *window = take_window(args->window);

    if (!window)
        return;
    lose(window); // before the driver waits for kernels that wait
    driver.cuCtxSetCurrent(window->context);
    far_puts_await(window->context); // signals that it still has to write
    driver.cuMemFreeHost(window->proxy_queue);
    driver.cuCtxSetCurrent(serve->current);
    kernel_windows_free_window(window);
}

// ---- contexts that go ----

// Kernels that wait there are let go, since the driver may wait for them. The driver has the
// proxy queue as long as there is any context.
static void kernel_windows_forget_context(CUcontext context)
{
    SCOPED_LOCK(&peer_mover.lock);
    for (struct kernel_window *window = kernel_windows, *next; window; window = next) {
        next = window->next_window;
        if (window->context != context)
            continue;
        kernel_windows_take_off(window);
        lose(window);
        kernel_windows_free_window(window);
    }
    SCOPED_LOCK(&launch_lock);
    for (struct noted_launch *at = launches; at < launches + LAUNCHES_MAX; at++)
        if (at->context == context)
            forget_launch(at);
}

void kernel_windows_prepare(void)
{
    context_watch(kernel_windows_forget_context);
}
