// SPDX-License-Identifier: BSD-3-Clause
// See state_saver.h.
#include "daemon/state_saver.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/scope.h"
#include "daemon/state_file.h"

struct save_job {
    TAILQ_ENTRY(save_job) link;
    const char *name, *point;
    char *text;
    size_t size;
    uint64_t number;
    int err;
};

TAILQ_HEAD(job_list, save_job);

struct state_saver {
    char *directory;
    state_saver_done *done;
    void *argument;
    int wake; // eventfd: something is written
    struct event *written_event;
    pthread_t thread;
    pthread_mutex_t lock; // of what follows
    pthread_cond_t work;
    struct job_list waiting, written;
    bool closing;
};

static void job_free(struct save_job *job)
{
    free(job->text);
    free(job);
}

// ---- the thread ----

static struct save_job *next_job(struct state_saver *saver)
{
    struct save_job *job;

    SCOPED_LOCK(&saver->lock);
    while (TAILQ_EMPTY(&saver->waiting) && !saver->closing)
        pthread_cond_wait(&saver->work, &saver->lock);
    job = TAILQ_FIRST(&saver->waiting);
    if (job)
        TAILQ_REMOVE(&saver->waiting, job, link);
    return job;
}

static void *write_jobs(void *argument)
{
    struct state_saver *saver = argument;
    const uint64_t one = 1;
    struct save_job *job;

    while ((job = next_job(saver))) {
        job->err =
            state_file_replace(saver->directory, job->name, job->text, job->size, job->point);
        {
            SCOPED_LOCK(&saver->lock);
            TAILQ_INSERT_TAIL(&saver->written, job, link);
        }
        // It fails only where it is up already.
        ssize_t ignored = write(saver->wake, &one, sizeof(one));
        (void)ignored;
    }
    return NULL;
}

// ---- the event loop's side ----

static struct save_job *next_written(struct state_saver *saver)
{
    SCOPED_LOCK(&saver->lock);
    struct save_job *job = TAILQ_FIRST(&saver->written);
    if (job)
        TAILQ_REMOVE(&saver->written, job, link);
    return job;
}

static void tell_written(evutil_socket_t fd, short events, void *argument)
{
    struct state_saver *saver = argument;
    uint64_t count;
    struct save_job *job;

    ssize_t ignored = read(saver->wake, &count, sizeof(count));
    (void)ignored;
    while ((job = next_written(saver))) {
        saver->done(saver->argument, job->number, job->err);
        job_free(job);
    }
}

// The one that it takes the place of, or NULL.
static struct save_job *replace(struct state_saver *saver, struct save_job *job)
{
    struct save_job *other;

    SCOPED_LOCK(&saver->lock);
    TAILQ_FOREACH(other, &saver->waiting, link)
        if (!strcmp(other->name, job->name))
            break;
    if (other)
        TAILQ_REMOVE(&saver->waiting, other, link);
    TAILQ_INSERT_TAIL(&saver->waiting, job, link);
    pthread_cond_signal(&saver->work);
    return other;
}

int state_saver_write(struct state_saver *saver, const char *name, const char *point, char *text,
                      size_t size, uint64_t number)
{
    struct save_job *job = malloc(sizeof(*job)), *other;

    if (!job) {
        free(text);
        return -ENOMEM;
    }
    *job = (struct save_job){
        .name = name, .point = point, .text = text, .size = size, .number = number};
    other = replace(saver, job);
    if (other)
        job_free(other);
    return 0;
}

// Signals are for the event loop.
static int start_thread(struct state_saver *saver)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&saver->thread, NULL, write_jobs, saver);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

static void release(struct state_saver *saver)
{
    if (saver->written_event)
        event_free(saver->written_event);
    if (saver->wake >= 0)
        close(saver->wake);
    free(saver->directory);
    free(saver);
}

struct state_saver *state_saver_open(struct event_base *base, const char *directory,
                                     state_saver_done *done, void *argument)
{
    struct state_saver *saver = calloc(1, sizeof(*saver));

    if (!saver)
        return NULL;
    *saver = (struct state_saver){.done = done,
                                  .argument = argument,
                                  .directory = strdup(directory),
                                  .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .work = PTHREAD_COND_INITIALIZER};
    TAILQ_INIT(&saver->waiting);
    TAILQ_INIT(&saver->written);
    saver->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (saver->wake >= 0)
        saver->written_event =
            event_new(base, saver->wake, EV_READ | EV_PERSIST, tell_written, saver);
    if (!saver->directory || !saver->written_event || event_add(saver->written_event, NULL) ||
        start_thread(saver)) {
        release(saver);
        return NULL;
    }
    return saver;
}

void state_saver_close(struct state_saver **pointer)
{
    struct state_saver *saver = *pointer;

    if (!saver)
        return;
    *pointer = NULL;
    {
        SCOPED_LOCK(&saver->lock);
        saver->closing = true;
        pthread_cond_signal(&saver->work);
    }
    pthread_join(saver->thread, NULL);
    for (struct save_job *job; (job = next_written(saver));)
        job_free(job);
    release(saver);
}
