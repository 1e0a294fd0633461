// SPDX-License-Identifier: BSD-3-Clause
// The copy threads: started at the first large copy, asleep between copies.
#include "client-lib/cuda/copy/copy_threads.h"

#include <pthread.h>
#include <sched.h>

#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/report/watch.h"
#include "common/base/scope.h"

enum { HELPERS_MAX = 3 };

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER; // held during one copy
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t start = PTHREAD_COND_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static struct {
    void (*work)(void *);
    void *argument;
    CUcontext context;
    uint32_t call;        // the program's context, to which the copy belongs
    unsigned int number;  // of the current copy
    unsigned int working; // helpers that have not finished the copy
} job;
static int helpers = -1; // not counted yet

static void *copy_threads_help(void *unused)
{
    unsigned int seen = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (job.number == seen)
            pthread_cond_wait(&start, &lock);
        seen = job.number;
        void (*work)(void *) = job.work;
        void *argument = job.argument;
        CUcontext context = job.context;
        watch_number = job.call;
        pthread_mutex_unlock(&lock);
        if (thread_set_context(context) == CUDA_SUCCESS)
            work(argument);
        pthread_mutex_lock(&lock);
        if (--job.working == 0)
            pthread_cond_signal(&finished);
    }
    return NULL;
}

// One processor is left for the worker, which runs on the same machine.
static int spare_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    int spare = count / 2 - 1;
    return spare < 0 ? 0 : spare > HELPERS_MAX ? HELPERS_MAX : spare;
}

static void start_helpers(void)
{
    int wanted = spare_processors();
    for (helpers = 0; helpers < wanted && thread_start(copy_threads_help, NULL); helpers++)
        ;
}

void copy_threads_run(void (*work)(void *argument), void *argument, CUcontext context)
{
    if (pthread_mutex_trylock(&busy) != 0) {
        work(argument);
        return;
    }
    if (helpers < 0)
        start_helpers();
    if (helpers > 0) {
        SCOPED_LOCK(&lock);
        job.work = work;
        job.argument = argument;
        job.context = context;
        job.call = watch_number;
        job.working = (unsigned int)helpers;
        job.number++;
        pthread_cond_broadcast(&start);
    }
    work(argument);
    if (helpers > 0) {
        SCOPED_LOCK(&lock);
        while (job.working)
            pthread_cond_wait(&finished, &lock);
    }
    pthread_mutex_unlock(&busy);
}
