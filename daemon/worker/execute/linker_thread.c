// SPDX-License-Identifier: BSD-3-Clause
// The driver's linker has state of the thread: a linker that was created in one thread and
// completed in another one broke the compiler for the rest of the process (driver 580), and
// requests are served by any thread.
#include "daemon/worker/execute/linker_thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "worker_driver.h"

struct linker_job {
    void (*run)(void *argument);
    void *argument;
    CUcontext context;
    bool waited, done; // not waited for: freed by the thread
    struct linker_job *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct linker_job *first, **last = &first;
static bool started;

static struct linker_job *next_job(void)
{
    SCOPED_LOCK(&lock);
    while (!first)
        pthread_cond_wait(&changed, &lock);
    struct linker_job *job = first;
    first = job->next;
    if (!first)
        last = &first;
    return job;
}

// The job of one who waits for it is on his stack, and gone as soon as he knows.
static void linker_thread_finish(struct linker_job *job)
{
    SCOPED_LOCK(&lock);
    if (!job->waited)
        free(job);
    else
        job->done = true;
    pthread_cond_broadcast(&changed);
}

static void *linker_main(void *argument)
{
    for (;;) {
        struct linker_job *job = next_job();
        driver.cuCtxSetCurrent(job->context);
        job->run(job->argument);
        linker_thread_finish(job);
    }
    return NULL;
}

// The lock is held.
static bool linker_thread_start(void)
{
    pthread_t thread;

    if (!started && !pthread_create(&thread, NULL, linker_main, NULL)) {
        pthread_detach(thread);
        started = true;
    }
    return started;
}

static void linker_thread_append(struct linker_job *job)
{
    *last = job;
    last = &job->next;
    pthread_cond_broadcast(&changed);
}

CUresult linker_run(CUcontext context, void (*run)(void *argument), void *argument)
{
    struct linker_job job = {.run = run, .argument = argument, .context = context, .waited = true};

    SCOPED_LOCK(&lock);
    if (!linker_thread_start())
        return CUDA_ERROR_OUT_OF_MEMORY;
    linker_thread_append(&job);
    while (!job.done)
        pthread_cond_wait(&changed, &lock);
    return CUDA_SUCCESS;
}

CUresult linker_post(CUcontext context, void (*run)(void *argument), void *argument)
{
    SCOPED_FREE struct linker_job *job = calloc(1, sizeof(*job));

    if (!job)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *job = (struct linker_job){.run = run, .argument = argument, .context = context};
    SCOPED_LOCK(&lock);
    if (!linker_thread_start())
        return CUDA_ERROR_OUT_OF_MEMORY;
    linker_thread_append(scoped_take(&job));
    return CUDA_SUCCESS;
}
