// SPDX-License-Identifier: BSD-3-Clause
// Threads start on first demand and stay. A launch never waits for a thread that has not begun with
// it, so a busy pool makes launches slower but never blocks them.
#include "sim/ptx/run/helper_threads.h"

#include <stdlib.h>

#include "common/base/scope.h"

#define MAX_HELPERS 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static struct grid *waiting; // launches that request helpers
static unsigned threads;
static struct worker *idle_workers;
static grid_worker *work_on; // the same for all launches; set before any thread starts

struct worker *worker_take(void)
{
    struct worker *worker;
    {
        SCOPED_LOCK(&lock);
        worker = idle_workers;
        if (worker)
            idle_workers = worker->next;
    }
    return worker ? worker : calloc(1, sizeof(*worker));
}

void worker_give(struct worker *worker)
{
    SCOPED_LOCK(&lock);
    worker->next = idle_workers;
    idle_workers = worker;
}

static void unlist(struct grid *g)
{
    for (struct grid **p = &waiting; *p; p = &(*p)->next_waiting) {
        if (*p == g) {
            *p = g->next_waiting;
            return;
        }
    }
}

static void *helper(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        struct grid *g;

        while (!waiting)
            pthread_cond_wait(&work, &lock);
        g = waiting;
        g->helpers++;
        if (--g->helpers_wanted == 0)
            unlist(g);
        pthread_mutex_unlock(&lock);
        work_on(g);
        pthread_mutex_lock(&lock);
        if (--g->helpers == 0)
            pthread_cond_broadcast(&done);
    }
    return NULL;
}

static void helper_threads_start_helper(void)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attr, helper, NULL) == 0)
        threads++;
    pthread_attr_destroy(&attr);
}

void helpers_run(struct grid *g, unsigned helpers, grid_worker *run)
{
    if (helpers) {
        SCOPED_LOCK(&lock);
        work_on = run;
        for (unsigned i = threads; i < helpers && i < MAX_HELPERS; i++)
            helper_threads_start_helper();
        g->helpers_wanted = helpers;
        g->next_waiting = waiting;
        waiting = g;
        pthread_cond_broadcast(&work);
    }
    run(g);
    if (!helpers)
        return;
    SCOPED_LOCK(&lock);
    if (g->helpers_wanted) {
        unlist(g);
        g->helpers_wanted = 0;
    }
    while (g->helpers)
        pthread_cond_wait(&done, &lock);
}
