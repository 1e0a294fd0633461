// SPDX-License-Identifier: BSD-3-Clause
// Records of the rdma link that wait for the next ones, to leave as one message.
//
// A post costs more than most records do; and many a record is followed at once by another or by a
// flush, such as a launch by its synchronization. Where that has been so several times in a row,
// records that nobody flushes gather, and leave with the flush, when there are many, or after a tick
// or two, sent by a thread that is awake only while records gather. Having to wait for the tick was
// a wrong guess: then records leave one by one again, and it takes longer to guess again.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/scope.h"
#include "transport/rdma_private.h"
#include "common/wait.h"

enum {
    BYTES = 2048, // gather at most, and a record more
    SOON_NS = 500 * 1000,
    WANTED = 8,
    WANTED_MAX = 1024,
    TICK_NS = 1000 * 1000,
    IDLE_TICKS = 20, // without a record, until the thread sleeps
};

static void tick(void)
{
    const struct timespec time = {.tv_nsec = TICK_NS};

    nanosleep(&time, NULL);
}

// Under the lock, which is given up meanwhile.
static void await_work(struct rdma_link *rdma)
{
    struct rdma_gather *gather = &rdma->gather;

    atomic_store(&gather->ticks, false);
    // A sender commits its record first and looks at `ticks` afterwards. So either it sees that there are none
    // and wakes this thread, or this thread sees the record here.
    if (atomic_load(&rdma->left) == atomic_load(&rdma->produced) && !gather->ending)
        pthread_cond_wait(&gather->work, &gather->lock);
    atomic_store(&gather->ticks, true);
}

static void *ticker_main(void *argument)
{
    struct rdma_link *rdma = argument;
    struct rdma_gather *gather = &rdma->gather;
    uint64_t before = 0;
    unsigned idle = 0;

    pthread_mutex_lock(&gather->lock);
    while (!gather->ending && !link_failure(&rdma->base)) {
        if (idle >= IDLE_TICKS) {
            await_work(rdma);
            idle = 0;
        }
        pthread_mutex_unlock(&gather->lock);
        tick();
        if (atomic_load(&rdma->left) < before) {
            atomic_store(&gather->missed, true);
            rdma_post_gathered(rdma); // with the next tick, where there is no room now
        }
        uint64_t now = atomic_load(&rdma->produced);
        idle = now == before ? idle + 1 : 0;
        before = now;
        pthread_mutex_lock(&gather->lock);
    }
    pthread_mutex_unlock(&gather->lock);
    return NULL;
}

// The program's signals are not for this thread.
static bool start_ticker(struct rdma_link *rdma)
{
    struct rdma_gather *gather = &rdma->gather;
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_store(&gather->ticks, true);
    r = pthread_create(&gather->thread, NULL, ticker_main, rdma);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r)
        log_warn("no thread for sending: error=%s", strerror(r));
    else
        pthread_setname_np(gather->thread, "rgpu-send");
    gather->runs = r == 0;
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

// Learns from the time that passed since a record left by itself: another one soon after it could have left
// together with it.
static void learn(struct rdma_gather *gather)
{
    if (atomic_load_explicit(&gather->missed, memory_order_relaxed)) {
        atomic_store(&gather->missed, false);
        gather->hits = 0;
        gather->wanted = gather->wanted < WANTED_MAX ? 2 * gather->wanted : WANTED_MAX;
    }
    if (!gather->last)
        return;
    gather->hits = clock_ns() - gather->last < SOON_NS ? gather->hits + 1 : 0;
    gather->last = 0;
}

bool rdma_gather_waits(struct rdma_link *rdma)
{
    struct rdma_gather *gather = &rdma->gather;

    learn(gather);
    if (gather->hits < gather->wanted) {
        gather->last = clock_ns();
        return false;
    }
    return atomic_load(&rdma->produced) - atomic_load(&rdma->left) < BYTES && ensure_ticks(rdma);
}

void rdma_gather_flushed(struct rdma_link *rdma)
{
    learn(&rdma->gather);
}

void rdma_gather_start(struct rdma_link *rdma)
{
    rdma->gather.wanted = WANTED;
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
