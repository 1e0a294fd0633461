// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/helper.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/scope.h"

enum { LEAVE_MS = 1000 };

TAILQ_HEAD(helper_jobs, helper_job);

struct helper {
    int wake; // eventfd: a job has run
    unsigned most;
    pthread_mutex_t lock; // protects what follows
    pthread_cond_t work, idle;
    struct helper_jobs waiting, ran;
    unsigned waiting_count, running, threads;
    bool closing;
};

// ---- the threads ----

// Under the lock.
static struct helper_job *next_waiting(struct helper *helper)
{
    while (TAILQ_EMPTY(&helper->waiting) && !helper->closing)
        pthread_cond_wait(&helper->work, &helper->lock);
    struct helper_job *job = TAILQ_FIRST(&helper->waiting);
    if (job) {
        TAILQ_REMOVE(&helper->waiting, job, link);
        helper->waiting_count--;
        helper->running++;
    }
    return job;
}

static void note_ran(struct helper *helper, struct helper_job *job)
{
    const uint64_t one = 1;

    TAILQ_INSERT_TAIL(&helper->ran, job, link);
    // It fails only if the counter is full, which wakes the event loop, too.
    ssize_t ignored = write(helper->wake, &one, sizeof(one));
    (void)ignored;
}

static void *helper_serve(void *argument)
{
    struct helper *helper = argument;
    struct helper_job *job;

    pthread_mutex_lock(&helper->lock);
    while ((job = next_waiting(helper))) {
        bool returns = job->done != NULL;
        pthread_mutex_unlock(&helper->lock);
        job->run(job);
        pthread_mutex_lock(&helper->lock);
        if (returns)
            note_ran(helper, job);
        helper->running--;
        pthread_cond_broadcast(&helper->idle);
    }
    helper->threads--;
    pthread_cond_broadcast(&helper->idle);
    pthread_mutex_unlock(&helper->lock);
    return NULL;
}

// Signals are for the event loop.
static void helper_start_threads(struct helper *helper, unsigned count)
{
    sigset_t all, before;
    pthread_t thread;

    SCOPED_LOCK(&helper->lock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (helper->threads < count && !pthread_create(&thread, NULL, helper_serve, helper)) {
        pthread_detach(thread);
        helper->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// ---- the event loop's side ----

// WAKE may be -1 if no job reports to the event loop.
static struct helper *helper_make(unsigned threads, unsigned most, int wake)
{
    struct helper *helper = calloc(1, sizeof(*helper));

    if (!helper)
        return NULL;
    *helper = (struct helper){.wake = wake, .most = most, .lock = PTHREAD_MUTEX_INITIALIZER};
    TAILQ_INIT(&helper->waiting);
    TAILQ_INIT(&helper->ran);
    pthread_cond_init(&helper->work, NULL);
    pthread_cond_init(&helper->idle, NULL);
    helper_start_threads(helper, threads);
    if (!helper->threads)
        helper_free(&helper);
    return helper;
}

struct helper *helper_new(unsigned threads, unsigned most)
{
    int wake = descriptor_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));

    return wake >= 0 ? helper_make(threads, most, wake) : NULL;
}

int helper_descriptor(const struct helper *helper)
{
    return helper->wake;
}

static struct helper_job *next_ran(struct helper *helper)
{
    SCOPED_LOCK(&helper->lock);
    struct helper_job *job = TAILQ_FIRST(&helper->ran);
    if (job)
        TAILQ_REMOVE(&helper->ran, job, link);
    return job;
}

void helper_finish(struct helper *helper)
{
    struct helper_job *job;
    uint64_t count;

    ssize_t ignored = helper->wake >= 0 ? read(helper->wake, &count, sizeof(count)) : 0;
    (void)ignored;
    while ((job = next_ran(helper)))
        job->done(job);
}

int helper_submit(struct helper *helper, struct helper_job *job)
{
    SCOPED_LOCK(&helper->lock);

    if (helper->waiting_count >= helper->most)
        return -EBUSY;
    helper->waiting_count++;
    TAILQ_INSERT_TAIL(&helper->waiting, job, link);
    pthread_cond_signal(&helper->work);
    return 0;
}

struct helper_job *helper_withdraw(struct helper *helper,
                                   bool (*is)(const struct helper_job *job, const void *argument),
                                   const void *argument)
{
    struct helper_job *job;

    SCOPED_LOCK(&helper->lock);
    TAILQ_FOREACH(job, &helper->waiting, link)
        if (is(job, argument))
            break;
    if (job) {
        TAILQ_REMOVE(&helper->waiting, job, link);
        helper->waiting_count--;
    }
    return job;
}

void helper_drain(struct helper *helper)
{
    {
        SCOPED_LOCK(&helper->lock);
        while (helper->waiting_count || helper->running)
            pthread_cond_wait(&helper->idle, &helper->lock);
    }
    helper_finish(helper);
}

// False: one of them blocks, and goes on doing so.
static bool end_threads(struct helper *helper)
{
    uint64_t limit = deadline_in(LEAVE_MS);
    int err = 0;

    SCOPED_LOCK(&helper->lock);
    helper->closing = true;
    pthread_cond_broadcast(&helper->work);
    while (helper->threads && !err)
        err = clock_wait_until(&helper->idle, &helper->lock, limit);
    return !helper->threads;
}

void helper_free(struct helper **pointer)
{
    struct helper *helper = *pointer;

    *pointer = NULL;
    if (!helper || !end_threads(helper))
        return;
    helper_finish(helper);
    if (helper->wake >= 0)
        close(helper->wake);
    pthread_cond_destroy(&helper->work);
    pthread_cond_destroy(&helper->idle);
    pthread_mutex_destroy(&helper->lock);
    free(helper);
}

// ---- closing ----

struct close_job {
    struct helper_job job;
    int fd;
};

// They last as long as the process. Each job holds a descriptor, so the limit of descriptors bounds
// their queues.
static struct helper *closer, *stranger_closer;
static pthread_once_t closers_once = PTHREAD_ONCE_INIT;

static void make_closers(void)
{
    // They have no descriptors of their own: the first close may come when no descriptor is left.
    closer = helper_make(1, UINT_MAX, -1);
    stranger_closer = helper_make(1, UINT_MAX, -1);
}

static void run_close(struct helper_job *job)
{
    close(((struct close_job *)job)->fd);
    free(job);
}

static void close_in(struct helper *const *helper, int fd)
{
    struct close_job *job = malloc(sizeof(*job));

    pthread_once(&closers_once, make_closers);
    if (job)
        *job = (struct close_job){.job = {.run = run_close}, .fd = fd};
    if (job && *helper && !helper_submit(*helper, &job->job))
        return;
    // Without memory or threads a close that may block is better than a descriptor that is lost.
    free(job);
    close(fd);
}

void close_aside(int fd)
{
    close_in(&closer, fd);
}

void close_stranger(int fd)
{
    close_in(&stranger_closer, fd);
}
