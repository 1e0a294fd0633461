// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/suspend/quiesce.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/handle_table.h"
#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/collect/site_comms.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/core/driver_load.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/peer/peer_windows.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "daemon/worker/suspend/memory_image.h"
#include "daemon/worker/suspend/movable_memory.h"
#include "daemon/worker/suspend/streams_query.h"

enum { REQUEST_END_MS = 1000 }; // for requests to end after the GPU's work

_Atomic bool quiesce_holds;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool wanted, running, reported; // under lock
static bool resting, held;             // under lock: why requests wait
static unsigned stopped;               // under lock: requests that wait here
static uint32_t number;                // of the pause that was asked for last
// under lock: what the supervisor has ordered during the pause
static enum quiesce_order { ORDER_NONE, ORDER_SAVE, ORDER_RESTORE } order;
static uint32_t order_timeout_ms;
static unsigned (*executing)(void);

static void say_paused(uint32_t pause)
{
    const struct control_paused paused = {.number = pause,
                                          .executing = executing(),
                                          .memory = gpus_used() - asking_quota().bytes,
                                          .shares = peer_windows_any() || site_comms_any(),
                                          .saves = setup.worker.movable_memory};

    if (control_send_packet(session.control, CONTROL_PAUSED, &paused, -1))
        log_debug("the pause was not taken");
}

// Under lock. Those who wait look at it again.
static void hold_requests(void)
{
    quiesce_holds = resting || held;
    pthread_cond_broadcast(&changed);
}

static void await_order(void)
{
    SCOPED_LOCK(&lock);

    while (!wanted)
        pthread_cond_wait(&changed, &lock);
}

// ---- orders during a pause ----

static bool is_cancelled(uint32_t pause)
{
    SCOPED_LOCK(&lock);
    return !wanted || number != pause;
}

static unsigned count_stopped(void)
{
    SCOPED_LOCK(&lock);
    return stopped;
}

// Returns true if no request or copy will queue work. Requests that wait for semaphores or memory
// do so only after the pause.
static bool is_all_queued(void)
{
    return executing() <= semaphores_waiting() + asking_quota().requests + count_stopped() &&
           copies_are_queued();
}

struct context_visit {
    unsigned (*act)(void); // returns STREAMS_ bits
    unsigned state;        // of all contexts
};

static void visit_context(void *argument, uint64_t handle, void *context)
{
    struct context_visit *visit = argument;
    CUcontext before;

    if (driver.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) {
        visit->state |= STREAMS_FAILED;
        return;
    }
    visit->state |= visit->act();
    driver.cuCtxPopCurrent_v2(&before);
}

static unsigned in_all_contexts(unsigned (*act)(void))
{
    struct context_visit visit = {.act = act};

    handle_table_each(session.handles, HANDLE_CONTEXT, visit_context, &visit);
    return visit.state;
}

// Waits for the worker's own streams, whose work is short.
static unsigned synchronize_context(void)
{
    return driver.cuCtxSynchronize() == CUDA_SUCCESS ? 0 : STREAMS_FAILED;
}

enum quiesce_readiness {
    READY,
    GPU_IS_BUSY,
    DRIVER_MUST_MOVE, // a stream is captured or has failed, or a request does not end
};

// Waits until no request uses the GPU's memory, and the GPU neither.
static enum quiesce_readiness quiesce_await_idle(uint32_t pause, uint32_t timeout_ms)
{
    const struct timespec interval = {.tv_nsec = 1000000};
    int64_t start = clock_ms(), now = start, last_busy = start;

    for (; !is_cancelled(pause); now = clock_ms()) {
        bool queued = is_all_queued();
        unsigned state = in_all_contexts(streams_query);
        last_busy = state ? now : last_busy;
        if (state & ~(unsigned)STREAMS_BUSY || now - last_busy > REQUEST_END_MS) {
            log_info("the driver moves the device memory streams=%u requests=%u copies=%d", state,
                     executing(), !copies_are_queued());
            return DRIVER_MUST_MOVE;
        }
        if (queued && !state)
            return in_all_contexts(synchronize_context) ? DRIVER_MUST_MOVE : READY;
        if (now - start > timeout_ms)
            return state ? GPU_IS_BUSY : DRIVER_MUST_MOVE;
        nanosleep(&interval, NULL);
    }
    return DRIVER_MUST_MOVE;
}

static void quiesce_save(uint32_t pause, uint32_t timeout_ms)
{
    enum quiesce_readiness readiness = quiesce_await_idle(pause, timeout_ms);
    struct control_saved saved = {.number = pause, .outcome = CONTROL_SAVE_OUTCOME_UNMOVED};

    if (readiness == GPU_IS_BUSY)
        saved.outcome = CONTROL_SAVE_OUTCOME_BUSY;
    else if (readiness == READY && memory_image_save(&saved.bytes))
        saved.outcome = CONTROL_SAVE_OUTCOME_SAVED;

    if (control_send_packet(session.control, CONTROL_SAVED, &saved, -1))
        log_debug("the supervisor does not know that memory was saved");
}

static void quiesce_restore(uint32_t pause)
{
    const struct control_restored restored = {.number = pause,
                                              .result = (int32_t)memory_image_restore()};

    if (control_send_packet(session.control, CONTROL_RESTORED, &restored, -1))
        log_debug("the supervisor does not know that memory was restored");
}

// Waits for the end of the pause, or an order. Returns false at the end.
static bool quiesce_await_order(uint32_t pause, int *next, uint32_t *timeout_ms)
{
    SCOPED_LOCK(&lock);

    while (wanted && number == pause && !order)
        pthread_cond_wait(&changed, &lock);
    *next = order;
    *timeout_ms = order_timeout_ms;
    order = ORDER_NONE;
    return wanted && number == pause;
}

static void execute_orders(uint32_t pause)
{
    uint32_t timeout_ms;
    int next;

    while (quiesce_await_order(pause, &next, &timeout_ms))
        if (next == ORDER_SAVE)
            quiesce_save(pause, timeout_ms);
        else
            quiesce_restore(pause);
}

// Restores memory that is still in the host when requests go on, because the supervisor has died
// and its successor knows of no pause.
static void restore_rest(void)
{
    const struct timespec interval = {.tv_nsec = 100000000};
    CUresult result = memory_image_restore();

    while (result == CUDA_ERROR_OUT_OF_MEMORY) {
        nanosleep(&interval, NULL);
        result = memory_image_restore();
    }
    if (result != CUDA_SUCCESS)
        session_end(CONTROL_END_REASON_SUSPENDED,
                    "device memory could not be restored after a suspension: %s",
                    driver_error_name(result));
}

// ---- pauses ----

// Reports that the worker is quiesced, and holds requests until the pause ends. Does nothing if the
// supervisor has cancelled the pause before.
static void hold_on(void)
{
    uint32_t pause;

    {
        SCOPED_LOCK(&lock);
        if (!wanted)
            return;
        pause = number;
        order = ORDER_NONE;
        reported = false;
        resting = true;
        hold_requests();
    }
    say_paused(pause);
    execute_orders(pause);
    restore_rest();
    SCOPED_LOCK(&lock);
    resting = false;
    hold_requests();
}

static void *keep_quiet(void *argument)
{
    char name[32];

    snprintf(name, sizeof(name), "session=%llu", (unsigned long long)session.id);
    log_set_thread_context(name);
    for (;;) {
        struct semaphore_sync sync;
        await_order();
        if (!semaphores_ask_sync(&sync))
            semaphores_await_sync(&sync);
        hold_on();
        semaphores_sync_ended();
    }
    return NULL;
}

// Under lock.
static void watch_orders(void)
{
    pthread_t thread;

    if (running)
        return;
    int err = pthread_create(&thread, NULL, keep_quiet, NULL);
    if (!err)
        pthread_detach(thread);
    else
        log_error("the session cannot be suspended error=\"%s\"", strerror(err));
    running = !err;
}

void quiesce_ask(unsigned (*count)(void))
{
    SCOPED_LOCK(&lock);
    executing = count;
    if (wanted)
        watch_orders();
}

void quiesce_begin(uint32_t pause)
{
    SCOPED_LOCK(&lock);
    wanted = true;
    reported = false; // another supervisor has not heard of waiting requests
    number = pause;
    pthread_cond_broadcast(&changed);
    if (executing)
        watch_orders();
}

void quiesce_end(void)
{
    SCOPED_LOCK(&lock);
    wanted = false;
    pthread_cond_broadcast(&changed);
}

static void quiesce_order(uint32_t pause, int next, uint32_t timeout_ms)
{
    SCOPED_LOCK(&lock);
    if (!wanted || number != pause)
        return;
    order = next;
    order_timeout_ms = timeout_ms;
    pthread_cond_broadcast(&changed);
}

void quiesce_take_save(uint32_t pause, uint32_t timeout_ms)
{
    quiesce_order(pause, ORDER_SAVE, timeout_ms);
}

void quiesce_take_restore(uint32_t pause)
{
    quiesce_order(pause, ORDER_RESTORE, 0);
}

void quiesce_hold(bool hold)
{
    SCOPED_LOCK(&lock);
    held = hold;
    hold_requests();
}

// Under lock.
static void say_called(void)
{
    const struct control_called called = {.number = number};

    if (resting && !reported && control_send_packet(session.control, CONTROL_CALLED, &called, -1))
        log_debug("the call was not taken");
    reported = reported || resting;
}

void quiesce_await_end(void)
{
    SCOPED_LOCK(&lock);
    stopped++;
    while (resting)
        pthread_cond_wait(&changed, &lock);
    stopped--;
}

void quiesce_wait(void)
{
    SCOPED_LOCK(&lock);
    stopped++;
    while (quiesce_holds) {
        say_called();
        pthread_cond_wait(&changed, &lock);
    }
    stopped--;
}
