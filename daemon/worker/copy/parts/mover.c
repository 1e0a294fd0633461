// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/parts/mover.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "common/base/wait.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"

enum { TIMER_SLACK_NS = 1000, BRIEF_TURNS = 8 };

// Others get the lock meanwhile.
static void mover_pause_briefly(struct mover *mover)
{
    pthread_mutex_unlock(&mover->lock);
    for (int i = 0; i < BRIEF_TURNS; i++)
        cpu_relax();
    pthread_mutex_lock(&mover->lock);
}

static void mover_pause_for(struct mover *mover, uint32_t us)
{
    if (us && mover->sleep) {
        mover->sleeps = true;
        mover->sleep(us);
        mover->sleeps = false;
        return;
    }
    if (us) {
        clock_wait(&mover->added, &mover->lock, us);
        return;
    }
    pthread_mutex_unlock(&mover->lock);
    sched_yield();
    pthread_mutex_lock(&mover->lock);
}

static void *mover_main(void *arg)
{
    struct mover *mover = arg;
    struct backoff backoff = {0};

    // Sleeps are short, and the kernel would make each longer by 50 us.
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    if (mover->name)
        prctl(PR_SET_NAME, mover->name);
    pthread_mutex_lock(&mover->lock);
    for (;;) {
        while (!mover->has_work()) {
            backoff.since_us = 0;
            pthread_cond_wait(&mover->added, &mover->lock);
        }
        if (mover->advance())
            backoff_over(&backoff, mover->learns);
        else if (mover->eager && setup_spin_us() > SPIN_FEW_US)
            mover_pause_briefly(mover);
        else
            mover_pause_for(mover, backoff_next(&backoff, setup_spin_us()));
    }
    return NULL;
}

void mover_wake(struct mover *mover)
{
    pthread_cond_signal(&mover->added);
    if (mover->sleeps)
        mover->wake();
}

int mover_start(struct mover *mover)
{
    pthread_t thread;
    int err = pthread_create(&thread, NULL, mover_main, mover);

    if (!err)
        pthread_detach(thread);
    return -err;
}

CUresult mover_enter(struct mover *mover, CUcontext context)
{
    if (!context)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (mover->current == context)
        return CUDA_SUCCESS;
    CUresult result = driver.cuCtxSetCurrent(context);
    mover->current = result == CUDA_SUCCESS ? context : NULL;
    return result;
}

// Returns the mover's streams of CONTEXT (NULL: unused ones), or NULL.
static struct mover_streams *mover_find_streams(struct mover *mover, CUcontext context)
{
    for (unsigned i = 0; i < MOVER_CONTEXTS_MAX; i++)
        if (mover->streams[i].context == context)
            return &mover->streams[i];
    return NULL;
}

static struct mover_streams *streams_of(struct mover *mover, CUcontext context)
{
    struct mover_streams *streams = mover_find_streams(mover, context);

    if (!streams && (streams = mover_find_streams(mover, NULL)))
        streams->context = context;
    return streams;
}

CUresult mover_stream(struct mover *mover, CUcontext context, unsigned which, CUstream *out)
{
    CUresult result = mover_enter(mover, context);

    if (result != CUDA_SUCCESS)
        return result;
    struct mover_streams *streams = streams_of(mover, context);
    if (!streams)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!streams->list[which])
        result = own_stream_create(&streams->list[which]);
    if (result == CUDA_SUCCESS)
        *out = streams->list[which];
    return result;
}

CUresult mover_make_streams(struct mover *mover, CUcontext context)
{
    struct mover_streams *streams = streams_of(mover, context);
    CUresult result = streams ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    for (unsigned which = 0; which < MOVER_STREAMS && result == CUDA_SUCCESS; which++)
        if (!streams->list[which])
            result = own_stream_create(&streams->list[which]);
    return result;
}

CUstream mover_made_stream(struct mover *mover, CUcontext context, unsigned which)
{
    struct mover_streams *streams = mover_find_streams(mover, context);

    return streams ? streams->list[which] : NULL;
}

void mover_forget_context(struct mover *mover, CUcontext context)
{
    struct mover_streams *streams = mover_find_streams(mover, context);

    for (unsigned which = 0; streams && which < MOVER_STREAMS; which++)
        if (streams->list[which])
            driver.cuStreamDestroy_v2(streams->list[which]);
    if (streams)
        *streams = (struct mover_streams){0};
    if (mover->current == context)
        mover->current = NULL;
}

CUresult own_stream_create(CUstream *out)
{
    int least = 0, greatest = 0;
    CUresult result = driver.cuCtxGetStreamPriorityRange(&least, &greatest);

    if (result != CUDA_SUCCESS)
        return result;
    return driver.cuStreamCreateWithPriority(out, CU_STREAM_NON_BLOCKING, greatest);
}
