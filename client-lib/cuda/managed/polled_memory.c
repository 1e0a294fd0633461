// SPDX-License-Identifier: BSD-3-Clause
// See polled_memory.h. The interval is short after work was sent or a word has changed, and becomes
// longer while nothing happens. When all GPUs are known to be idle, and when nothing has changed
// for long, the thread sleeps until work is sent.
#include "client-lib/cuda/managed/polled_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "client-lib/cuda/managed/compared_memory.h"
#include "client-lib/cuda/objects/thread.h"
#include "common/base/clock.h"
#include "common/base/scope.h"

enum { INTERVAL_MIN_US = 200, INTERVAL_MAX_US = 10000, QUIET_US = 60 * 1000 * 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t awake = PTHREAD_COND_INITIALIZER;
static atomic_bool started, asleep;
static _Atomic unsigned int work; // how often work was sent

// Sleeps until work has been sent since it was SEEN.
static void await_work(unsigned int seen)
{
    SCOPED_LOCK(&lock);
    atomic_store(&asleep, true);
    while (atomic_load(&work) == seen)
        pthread_cond_wait(&awake, &lock);
    atomic_store(&asleep, false);
}

static void *polled_run(void *unused)
{
    uint64_t interval = INTERVAL_MIN_US, last_change = clock_us();
    unsigned int seen = 0;
    for (;;) {
        usleep((useconds_t)interval);
        unsigned int now = atomic_load(&work);
        bool changed, more = now != seen, busy = compared_exchange(&changed);
        seen = now;
        interval = 2 * interval < INTERVAL_MAX_US ? 2 * interval : INTERVAL_MAX_US;
        if (more || changed) {
            interval = INTERVAL_MIN_US;
            last_change = clock_us();
        } else if (!busy || clock_us() - last_change > QUIET_US) {
            await_work(seen);
        }
    }
    return NULL;
}

void polled_begin(void)
{
    SCOPED_LOCK(&lock);
    if (!atomic_load(&started) && thread_start(polled_run, NULL))
        atomic_store(&started, true);
}

void polled_work_sent(void)
{
    if (!atomic_load_explicit(&started, memory_order_relaxed))
        return;
    atomic_fetch_add(&work, 1);
    if (!atomic_load(&asleep))
        return;
    SCOPED_LOCK(&lock);
    pthread_cond_signal(&awake);
}
