// SPDX-License-Identifier: BSD-3-Clause
// Delays records so that several are sent as one message (gather_guess.h). They are sent by a
// flush, when there are many, or after a tick or two by a thread that is awake only while records
// are delayed.
#include <pthread.h>
#include <time.h>

#include "common/base/scope.h"
#include "transport/rdma/rdma_private.h"
#include "common/base/wait.h"

static void tick(uint32_t us)
{
    const struct timespec time = {.tv_nsec = us * 1000};

    nanosleep(&time, NULL);
}

// Under the lock, which is given up meanwhile.
static void rdma_gather_await_work(struct rdma_link *rdma)
{
    struct rdma_gather *gather = &rdma->gather;

    atomic_store(&gather->ticks, false);
    // A sender commits its record first and looks at `ticks` afterwards. So either it sees that
    // there are none and wakes this thread, or this thread sees the record here.
    if (atomic_load(&rdma->left) == atomic_load(&rdma->produced) && !gather->ending)
        pthread_cond_wait(&gather->work, &gather->lock);
    atomic_store(&gather->ticks, true);
}

static void *ticker_main(void *argument)
{
    struct rdma_link *rdma = argument;
    struct rdma_gather *gather = &rdma->gather;
    uint64_t before = 0;
    uint32_t us = gather->guess.tick_us;
    bool idle = false;

    pthread_mutex_lock(&gather->lock);
    while (!gather->ending && !link_failure(&rdma->base)) {
        if (idle)
            rdma_gather_await_work(rdma);
        pthread_mutex_unlock(&gather->lock);
        tick(us);
        bool missed = atomic_load(&rdma->left) < before;
        us = gather_guess_tick(&gather->guess, missed);
        if (missed)
            rdma_post_gathered(rdma); // with the next tick, where there is no room now
        uint64_t now = atomic_load(&rdma->produced);
        idle = now == before;
        before = now;
        pthread_mutex_lock(&gather->lock);
    }
    pthread_mutex_unlock(&gather->lock);
    return NULL;
}

static bool start_ticker(struct rdma_link *rdma)
{
    struct rdma_gather *gather = &rdma->gather;

    atomic_store(&gather->ticks, true);
    gather->runs = link_thread_start(&gather->thread, "rgpu-send", "sending", ticker_main, rdma);
    return gather->runs;
}

static bool ensure_ticks(struct rdma_link *rdma)
{
    struct rdma_gather *gather = &rdma->gather;

    if (!gather->runs)
        return start_ticker(rdma);
    if (!atomic_load(&gather->ticks)) {
        SCOPED_LOCK(&gather->lock);
        pthread_cond_signal(&gather->work);
    }
    return true;
}

bool rdma_gather_waits(struct rdma_link *rdma)
{
    struct rdma_gather *gather = &rdma->gather;

    return gather_guess_waits(&gather->guess) &&
           atomic_load(&rdma->produced) - atomic_load(&rdma->left) < GATHER_BYTES &&
           ensure_ticks(rdma);
}

void rdma_gather_flushed(struct rdma_link *rdma)
{
    gather_guess_flushed(&rdma->gather.guess);
}

void rdma_gather_start(struct rdma_link *rdma)
{
    gather_guess_start(&rdma->gather.guess);
    pthread_mutex_init(&rdma->gather.lock, NULL);
    pthread_cond_init(&rdma->gather.work, NULL);
}

void rdma_gather_stop(struct rdma_link *rdma)
{
    struct rdma_gather *gather = &rdma->gather;

    if (!gather->runs)
        return;
    {
        SCOPED_LOCK(&gather->lock);
        gather->ending = true;
        pthread_cond_signal(&gather->work);
    }
    pthread_join(gather->thread, NULL);
}
