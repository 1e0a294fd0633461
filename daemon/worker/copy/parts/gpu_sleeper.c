// SPDX-License-Identifier: BSD-3-Clause
// The thread waits for its own event, recorded after the mover's event in its own stream: the
// mover's event may be destroyed at any time, and only an event with a blocking wait costs an
// interrupt.
#include "daemon/worker/copy/parts/gpu_sleeper.h"

#include <sys/prctl.h>

static void await(struct gpu_sleeper *sleeper)
{
    CUcontext context = sleeper->context;
    CUevent come = sleeper->come;

    sleeper->state = SLEEPER_AWAITS;
    pthread_mutex_unlock(&sleeper->mover->lock);
    CUresult result = driver.cuCtxSetCurrent(context);
    if (result == CUDA_SUCCESS)
        result = driver.cuEventSynchronize(come);
    pthread_mutex_lock(&sleeper->mover->lock);
    sleeper->fails = result != CUDA_SUCCESS;
    sleeper->state = SLEEPER_IDLE;
    pthread_cond_broadcast(&sleeper->idle);
    mover_wake(sleeper->mover);
}

static void *sleeper_main(void *argument)
{
    struct gpu_sleeper *sleeper = argument;

    prctl(PR_SET_NAME, "rgpu-sleeper");
    pthread_mutex_lock(&sleeper->mover->lock);
    for (;;) {
        while (sleeper->state != SLEEPER_ASKED)
            pthread_cond_wait(&sleeper->asked, &sleeper->mover->lock);
        await(sleeper);
    }
    return NULL;
}

static bool gpu_sleeper_start(struct gpu_sleeper *sleeper)
{
    pthread_t thread;

    if (!sleeper->has_thread && !pthread_create(&thread, NULL, sleeper_main, sleeper)) {
        pthread_detach(thread);
        sleeper->has_thread = true;
    }
    return sleeper->has_thread;
}

static void gpu_sleeper_leave_context(struct gpu_sleeper *sleeper)
{
    if (sleeper->come)
        driver.cuEventDestroy_v2(sleeper->come);
    if (sleeper->stream)
        driver.cuStreamDestroy_v2(sleeper->stream);
    sleeper->come = NULL;
    sleeper->stream = NULL;
    sleeper->context = NULL;
}

static CUresult gpu_sleeper_enter_context(struct gpu_sleeper *sleeper, CUcontext context)
{
    if (sleeper->context == context)
        return CUDA_SUCCESS;
    gpu_sleeper_leave_context(sleeper);
    CUresult result = own_stream_create(&sleeper->stream);
    if (result == CUDA_SUCCESS)
        result =
            driver.cuEventCreate(&sleeper->come, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS)
        sleeper->context = context;
    else
        gpu_sleeper_leave_context(sleeper);
    return result;
}

bool gpu_sleeper_await(struct gpu_sleeper *sleeper, CUcontext context, CUevent event)
{
    if (sleeper->state != SLEEPER_IDLE)
        return sleeper->event == event;
    if (sleeper->fails || !driver.cuEventSynchronize || !driver.cuStreamWaitEvent ||
        !gpu_sleeper_start(sleeper))
        return false;
    CUresult result = gpu_sleeper_enter_context(sleeper, context);
    if (result == CUDA_SUCCESS)
        result = driver.cuStreamWaitEvent(sleeper->stream, event, CU_EVENT_WAIT_DEFAULT);
    if (result == CUDA_SUCCESS)
        result = driver.cuEventRecord(sleeper->come, sleeper->stream);
    sleeper->fails = result != CUDA_SUCCESS;
    if (sleeper->fails)
        return false;
    sleeper->event = event;
    sleeper->state = SLEEPER_ASKED;
    pthread_cond_signal(&sleeper->asked);
    return true;
}

void gpu_sleeper_forget(struct gpu_sleeper *sleeper, CUcontext context)
{
    if (sleeper->context != context)
        return;
    while (sleeper->state != SLEEPER_IDLE)
        pthread_cond_wait(&sleeper->idle, &sleeper->mover->lock);
    gpu_sleeper_leave_context(sleeper);
    sleeper->fails = false;
}
