// SPDX-License-Identifier: BSD-3-Clause
// A decode is a job of a helper thread (common/service/helper.h).
#include "broker/http/munge_pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/service/helper.h"

enum { THREADS = 4, WAITING_MAX = 512 };

struct munge_job {
    struct helper_job job;
    TAILQ_ENTRY(munge_job) link;
    struct munge_pool *pool; // NULL: it has been freed
    munge_ctx_t context;     // a copy, since a context is for one thread at a time
    uid_t uid;
    char *question;
    void *answer; // allocated by libmunge
    int size;
    munge_err_t code;
    atomic_bool cancelled;
    munge_done done;
    void *argument;
};

struct munge_pool {
    munge_ctx_t context;
    struct helper *helper;
    struct event *event;
    TAILQ_HEAD(, munge_job) jobs; // those that have not ended
};

static void munge_pool_job_free(struct munge_job *job)
{
    explicit_bzero(job->question, strlen(job->question));
    free(job->question);
    if (job->answer && job->size > 0)
        explicit_bzero(job->answer, (size_t)job->size);
    free(job->answer);
    munge_ctx_destroy(job->context);
    free(job);
}

static void munge_pool_run(struct helper_job *argument)
{
    struct munge_job *job = (struct munge_job *)argument;

    if (!atomic_load(&job->cancelled))
        job->code =
            munge_decode(job->question, job->context, &job->answer, &job->size, &job->uid, NULL);
}

static void munge_pool_finish(struct helper_job *argument)
{
    struct munge_job *job = (struct munge_job *)argument;
    struct munge_result result = {.code = job->code,
                                  .text = job->answer ? job->answer : "",
                                  .size = (size_t)job->size,
                                  .uid = job->uid};

    if (job->pool)
        TAILQ_REMOVE(&job->pool->jobs, job, link);
    if (!atomic_load(&job->cancelled))
        job->done(job->argument, &result);
    munge_pool_job_free(job);
}

static void on_ready(evutil_socket_t fd, short events, void *argument)
{
    struct munge_pool *pool = argument;

    helper_finish(pool->helper);
}

struct munge_pool *munge_pool_new(struct event_base *base, munge_ctx_t context)
{
    struct munge_pool *pool = calloc(1, sizeof(*pool));

    if (!pool) {
        munge_ctx_destroy(context);
        return NULL;
    }
    pool->context = context;
    TAILQ_INIT(&pool->jobs);
    pool->helper = helper_new(THREADS, WAITING_MAX);
    if (pool->helper)
        pool->event =
            event_new(base, helper_descriptor(pool->helper), EV_READ | EV_PERSIST, on_ready, pool);
    if (!pool->event || event_add(pool->event, NULL))
        munge_pool_free(&pool);
    return pool;
}

void munge_pool_free(struct munge_pool **pointer)
{
    struct munge_pool *pool = *pointer;
    struct munge_job *job, *next;

    if (!pool)
        return;
    *pointer = NULL;
    if (pool->event)
        event_free(pool->event);
    for (job = TAILQ_FIRST(&pool->jobs); job; job = next) {
        next = TAILQ_NEXT(job, link);
        atomic_store(&job->cancelled, true);
        job->pool = NULL;
    }
    helper_free(&pool->helper);
    munge_ctx_destroy(pool->context);
    free(pool);
}

struct munge_job *munge_pool_decode(struct munge_pool *pool, const char *credential,
                                    munge_done done, void *argument)
{
    struct munge_job *job = calloc(1, sizeof(*job));

    if (!job)
        return NULL;
    *job = (struct munge_job){.job = {.run = munge_pool_run, .done = munge_pool_finish},
                              .pool = pool,
                              .context = munge_ctx_copy(pool->context),
                              .uid = (uid_t)-1,
                              .question = strdup(credential),
                              .done = done,
                              .argument = argument};
    if (!job->context || !job->question || helper_submit(pool->helper, &job->job)) {
        free(job->question);
        munge_ctx_destroy(job->context);
        free(job);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&pool->jobs, job, link);
    return job;
}

void munge_job_cancel(struct munge_job **job)
{
    if (*job)
        atomic_store(&(*job)->cancelled, true);
    *job = NULL;
}
