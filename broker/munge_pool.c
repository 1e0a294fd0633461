// SPDX-License-Identifier: BSD-3-Clause
// Threads that ask munged.
#include "broker/munge_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

enum { THREADS = 4, WAITING_MAX = 512, PATIENCE_SECONDS = 1 };

struct munge_job {
    TAILQ_ENTRY(munge_job) link;
    struct munge_pool *pool;
    uid_t uid;
    char *question;
    void *answer; // libmunge's
    int size;
    munge_err_t code;
    munge_done done; // NULL: cancelled; changed under the lock
    void *argument;
};

TAILQ_HEAD(job_list, munge_job);

struct munge_pool {
    munge_ctx_t context;
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    struct job_list waiting, finished;
    size_t waiting_count, threads;
    bool stop;
    int ready; // an eventfd
    struct event *event;
};

static void job_free(struct munge_job *job)
{
    explicit_bzero(job->question, strlen(job->question));
    free(job->question);
    if (job->answer && job->size > 0)
        explicit_bzero(job->answer, (size_t)job->size);
    free(job->answer);
    free(job);
}

static void ask(munge_ctx_t context, struct munge_job *job)
{
    job->code = munge_decode(job->question, context, &job->answer, &job->size, &job->uid, NULL);
}

static void tell(struct munge_pool *pool, struct munge_job *job)
{
    const uint64_t one = 1;

    TAILQ_INSERT_TAIL(&pool->finished, job, link);
    if (write(pool->ready, &one, sizeof(one)) < 0)
        return; // the counter is full, so the event loop will look
}

static void *serve(void *argument)
{
    struct munge_pool *pool = argument;
    munge_ctx_t context;
    struct munge_job *job;

    pthread_mutex_lock(&pool->lock);
    context = munge_ctx_copy(pool->context);
    while (context && !pool->stop) {
        job = TAILQ_FIRST(&pool->waiting);
        if (!job) {
            pthread_cond_wait(&pool->wake, &pool->lock);
            continue;
        }
        TAILQ_REMOVE(&pool->waiting, job, link);
        pool->waiting_count--;
        if (job->done) {
            pthread_mutex_unlock(&pool->lock);
            ask(context, job);
            pthread_mutex_lock(&pool->lock);
        }
        tell(pool, job);
    }
    pool->threads--;
    pthread_cond_signal(&pool->idle);
    pthread_mutex_unlock(&pool->lock);
    munge_ctx_destroy(context);
    return NULL;
}

static struct munge_job *next_finished(struct munge_pool *pool)
{
    SCOPED_LOCK(&pool->lock);
    struct munge_job *job = TAILQ_FIRST(&pool->finished);
    if (job)
        TAILQ_REMOVE(&pool->finished, job, link);
    return job;
}

static void on_ready(evutil_socket_t fd, short events, void *argument)
{
    struct munge_pool *pool = argument;
    struct munge_job *job;
    uint64_t count;

    (void)events;
    if (read(fd, &count, sizeof(count)) < 0)
        return;
    while ((job = next_finished(pool))) {
        struct munge_result result = {.code = job->code,
                                      .text = job->answer ? job->answer : "",
                                      .size = (size_t)job->size,
                                      .uid = job->uid};

        if (job->done)
            job->done(job->argument, &result);
        job_free(job);
    }
}

// Signals are for the thread of the event loop.
static void start_threads(struct munge_pool *pool)
{
    sigset_t all, before;
    pthread_t thread;

    SCOPED_LOCK(&pool->lock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&thread, NULL, serve, pool))
            break;
        pthread_detach(thread);
        pool->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct munge_pool *munge_pool_new(struct event_base *base, munge_ctx_t context)
{
    struct munge_pool *pool = calloc(1, sizeof(*pool));

    if (!pool) {
        munge_ctx_destroy(context);
        return NULL;
    }
    pool->context = context;
    TAILQ_INIT(&pool->waiting);
    TAILQ_INIT(&pool->finished);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool->event = event_new(base, pool->ready, EV_READ | EV_PERSIST, on_ready, pool);
    if (pool->ready >= 0 && pool->event && event_add(pool->event, NULL) == 0)
        start_threads(pool);
    if (pool->threads == 0)
        munge_pool_free(&pool);
    return pool;
}

// False: one of them waits for munged, and goes on doing so.
static bool end_threads(struct munge_pool *pool)
{
    uint64_t limit = deadline_in(PATIENCE_SECONDS * 1000);
    int error = 0;

    SCOPED_LOCK(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    while (pool->threads > 0 && !error)
        error = clock_wait_until(&pool->idle, &pool->lock, limit);
    return pool->threads == 0;
}

void munge_pool_free(struct munge_pool **pointer)
{
    struct munge_pool *pool = *pointer;
    struct munge_job *job;

    if (!pool)
        return;
    *pointer = NULL;
    if (pool->event)
        event_free(pool->event);
    if (!end_threads(pool))
        return; // one of them still uses it, and the process ends
    while ((job = TAILQ_FIRST(&pool->waiting))) {
        TAILQ_REMOVE(&pool->waiting, job, link);
        job_free(job);
    }
    while ((job = TAILQ_FIRST(&pool->finished))) {
        TAILQ_REMOVE(&pool->finished, job, link);
        job_free(job);
    }
    if (pool->ready >= 0)
        close(pool->ready);
    munge_ctx_destroy(pool->context);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->idle);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static struct munge_job *enqueue(struct munge_pool *pool, const struct munge_job *model,
                                 const char *question)
{
    SCOPED_FREE struct munge_job *job = malloc(sizeof(*job));

    if (!job)
        return NULL;
    *job = *model;
    job->pool = pool;
    job->question = strdup(question);
    if (!job->question)
        return NULL;
    SCOPED_LOCK(&pool->lock);
    if (pool->waiting_count >= WAITING_MAX) {
        free(job->question);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&pool->waiting, job, link);
    pool->waiting_count++;
    pthread_cond_signal(&pool->wake);
    return scoped_take(&job);
}

struct munge_job *munge_pool_decode(struct munge_pool *pool, const char *credential,
                                    munge_done done, void *argument)
{
    struct munge_job model = {.done = done, .argument = argument, .uid = (uid_t)-1};

    return enqueue(pool, &model, credential);
}

void munge_job_cancel(struct munge_job **job)
{
    struct munge_pool *pool = *job ? (*job)->pool : NULL;

    if (!pool)
        return;
    SCOPED_LOCK(&pool->lock);
    (*job)->done = NULL;
    *job = NULL;
}
