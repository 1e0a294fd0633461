// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/intake/quiesce.h"

#include <pthread.h>
#include <string.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/collect/site_comms.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/peer/peer_windows.h"
#include "daemon/worker/core/session.h"

_Atomic bool quiesce_holds;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool wanted, running, reported; // under lock
static bool resting, held;             // under lock: why requests wait
static uint32_t number;                // of the pause that was asked for last
static unsigned (*executing)(void);

static void say_paused(uint32_t pause)
{
    const struct control_paused paused = {.number = pause,
                                          .executing = executing(),
                                          .memory = gpus_used(),
                                          .shares = peer_windows_any() || site_comms_any()};

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

static void quiesce_await_end(uint32_t pause)
{
    SCOPED_LOCK(&lock);

    while (wanted && number == pause)
        pthread_cond_wait(&changed, &lock);
}

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
        reported = false;
        resting = true;
        hold_requests();
    }
    say_paused(pause);
    quiesce_await_end(pause);
    SCOPED_LOCK(&lock);
    resting = false;
    hold_requests();
}

static void *keep_quiet(void *argument)
{
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

void quiesce_wait(void)
{
    SCOPED_LOCK(&lock);
    while (quiesce_holds) {
        say_called();
        pthread_cond_wait(&changed, &lock);
    }
}
