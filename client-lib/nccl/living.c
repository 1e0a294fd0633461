// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/living.h"

#include <pthread.h>
#include <time.h>

#include "client-lib/nccl/loaded_calls.h"
#include "common/base/scope.h"

enum { POLL_NS_MIN = 100 * 1000, POLL_NS_MAX = 10 * 1000 * 1000 };

static pthread_mutex_t groups_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t groups_changed = PTHREAD_COND_INITIALIZER;
static struct living *all; // of communicators that have not ended
static int groups;         // groups that are being submitted
static bool freeing;

void living_enter(struct living *one)
{
    SCOPED_LOCK(&groups_lock);
    one->next = all;
    all = one;
}

void living_leave(const struct living *one)
{
    SCOPED_LOCK(&groups_lock);
    struct living **at = &all;
    while (*at && *at != one)
        at = &(*at)->next;
    if (*at)
        *at = one->next;
}

void living_begin_group(void)
{
    SCOPED_LOCK(&groups_lock);
    while (freeing)
        pthread_cond_wait(&groups_changed, &groups_lock);
    groups++;
}

void living_end_group(void)
{
    SCOPED_LOCK(&groups_lock);
    groups--;
}

static bool has_unfinished_work(const struct living *one)
{
    CUcontext was;
    if (!one->began || loaded.cuCtxPushCurrent_v2(one->context) != CUDA_SUCCESS)
        return false;
    CUresult state = loaded.cuEventQuery(one->last);
    loaded.cuCtxPopCurrent_v2(&was);
    return state == CUDA_ERROR_NOT_READY;
}

static bool try_freeing(void)
{
    SCOPED_LOCK(&groups_lock);
    bool busy = groups || freeing;
    for (const struct living *one = all; one && !busy; one = one->next)
        busy = has_unfinished_work(one);
    freeing |= !busy;
    return !busy;
}

void living_begin_freeing(void)
{
    for (long ns = POLL_NS_MIN; !try_freeing(); ns = ns < POLL_NS_MAX ? ns * 2 : ns)
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

void living_end_freeing(void)
{
    SCOPED_LOCK(&groups_lock);
    freeing = false;
    pthread_cond_broadcast(&groups_changed);
}
