// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/workers/warm_pool.h"

#include <stdio.h>

#include "common/base/log.h"

enum {
    BACKOFF_FIRST_US = 250000,
    BROKEN_AFTER_FAILURES = 3, // one failed start can be an accident
};

struct warm_pool *warm_pool_of(struct box *box, struct box_device *device)
{
    return device ? &device->pool : &box->probe;
}

bool warm_pool_is_broken(const struct warm_pool *pool)
{
    return pool->failures >= BROKEN_AFTER_FAILURES;
}

bool warm_pool_pauses(const struct warm_pool *pool)
{
    return pool->retry && evtimer_pending(pool->retry, NULL);
}

static void retry(evutil_socket_t fd, short events, void *argument)
{
    box_changed(argument);
}

void warm_pool_start_failed(struct box *box, struct box_device *device, const char *reason)
{
    struct warm_pool *pool = warm_pool_of(box, device);
    uint64_t pause = BACKOFF_FIRST_US;

    snprintf(pool->last_error, sizeof(pool->last_error), "%s", reason);
    for (unsigned i = 0; i < pool->failures && pause < box->settings.worker_backoff_max; i++)
        pause *= 2;
    if (pause > box->settings.worker_backoff_max)
        pause = box->settings.worker_backoff_max;
    pool->failures++;
    if (!pool->retry)
        pool->retry = evtimer_new(box->base, retry, box);
    struct timeval delay = {.tv_sec = (time_t)(pause / 1000000),
                            .tv_usec = (suseconds_t)(pause % 1000000)};
    if (pool->retry)
        evtimer_add(pool->retry, &delay);
    log_warn("worker start failed failures=%u next_try_ms=%llu reason=\"%s\"", pool->failures,
             (unsigned long long)(pause / 1000), reason);
}

void warm_pool_free(struct warm_pool *pool)
{
    if (pool->retry)
        event_free(pool->retry);
    if (pool->again)
        event_free(pool->again);
    pool->retry = pool->again = NULL;
}
