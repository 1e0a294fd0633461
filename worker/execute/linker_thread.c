// SPDX-License-Identifier: BSD-3-Clause
// The thread that does all linking. The driver's linker keeps state by thread: one that was made in
// one thread and completed in another left the compiler broken for the rest of the process (driver
// 580), and our requests come on any thread.
#include "worker/execute/linker_thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

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

static void *linker_main(void *argument)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first)
            pthread_cond_wait(&changed, &lock);
        struct linker_job *job = first;
        first = job->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        driver.cuCtxSetCurrent(job->context);
        job->run(job->argument);
        pthread_mutex_lock(&lock);
        if (!job->waited)
            free(job);
        else
            job->done = true;
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

// The lock is held.
static bool start(void)
{
    pthread_t thread;

    if (!started && !pthread_create(&thread, NULL, linker_main, NULL)) {
        pthread_detach(thread);
        started = true;
    }
    return started;
}

static void append(struct linker_job *job)
{
    *last = job;
    last = &job->next;
    pthread_cond_broadcast(&changed);
}

CUresult linker_run(CUcontext context, void (*run)(void *argument), void *argument)
{
    struct linker_job job = {.run = run, .argument = argument, .context = context, .waited = true};

    pthread_mutex_lock(&lock);
    if (!start()) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    append(&job);
    while (!job.done)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult linker_post(CUcontext context, void (*run)(void *argument), void *argument)
{
    struct linker_job *job = calloc(1, sizeof(*job));

    if (!job)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *job = (struct linker_job){.run = run, .argument = argument, .context = context};
    pthread_mutex_lock(&lock);
    bool runs = start();
    if (runs)
        append(job);
    pthread_mutex_unlock(&lock);
    if (!runs)
        free(job);
    return runs ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
