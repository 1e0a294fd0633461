// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/site_watch.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"

enum { LOOK_US = 100000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stirred = PTHREAD_COND_INITIALIZER;
static struct site_rank *watched;
static pthread_t watcher;
static bool watching, stops;

static struct site_rank *next_to_look_at(unsigned round)
{
    struct site_rank *rank = watched;
    while (rank && (rank->looked == round || rank->ended))
        rank = rank->next;
    return rank;
}

// Ends the rank if its team is lost: NCCL's kernels return, and the work queued after them
// continues. The caller does not hold the lock, because the check of a team waits while its members
// exchange data.
static bool end_if_lost(const struct site_rank *rank)
{
    if (!loaded.rgpu_team_check(rank->team))
        return false;
    loaded.site->end(rank->context, rank->number, true);
    return true;
}

static void site_watch_look_at_all(void)
{
    static unsigned round;
    struct site_rank *rank;
    round++;
    while ((rank = next_to_look_at(round)) != NULL) {
        rank->looked = round;
        rank->looking = true;
        pthread_mutex_unlock(&lock);
        bool ended = end_if_lost(rank);
        pthread_mutex_lock(&lock);
        rank->ended = ended;
        rank->looking = false;
        pthread_cond_broadcast(&stirred);
    }
}

static void pause_looking(void)
{
    if (watched)
        clock_wait(&stirred, &lock, LOOK_US);
    else
        pthread_cond_wait(&stirred, &lock);
}

static void *watch_ranks(void *argument)
{
    SCOPED_LOCK(&lock);
    while (!stops) {
        site_watch_look_at_all();
        if (!stops)
            pause_looking();
    }
    return argument;
}

// Called before the driver's library ends.
static void stop_watching(void)
{
    pthread_mutex_lock(&lock);
    stops = true;
    pthread_cond_broadcast(&stirred);
    pthread_mutex_unlock(&lock);
    pthread_join(watcher, NULL);
}

int site_watch_begin(struct site_rank *rank)
{
    SCOPED_LOCK(&lock);
    if (!watching && quiet_thread_start(&watcher, watch_ranks, NULL))
        return -1;
    if (!watching)
        atexit(stop_watching);
    watching = true;
    rank->next = watched;
    watched = rank;
    pthread_cond_broadcast(&stirred);
    return 0;
}

void site_watch_end(struct site_rank *rank)
{
    SCOPED_LOCK(&lock);
    while (rank->looking)
        pthread_cond_wait(&stirred, &lock);
    for (struct site_rank **at = &watched; *at; at = &(*at)->next)
        if (*at == rank) {
            *at = rank->next;
            return;
        }
}
