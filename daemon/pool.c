// Warm workers: how many there are per device, and when the next one is started.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "daemon/client.h"
#include "daemon/worker.h"

enum {
    BACKOFF_FIRST_US = 250000,
    BROKEN_AFTER_FAILURES = 3, // a single failed start may be bad luck
};

struct pool *pool_of(struct box *box, struct device *device)
{
    return device ? &device->pool : &box->probe;
}

bool pool_is_broken(const struct pool *pool)
{
    return pool->failures >= BROKEN_AFTER_FAILURES;
}

// Without tickets every client sees all devices in the box's order, so its first is the first.
static bool wants_warm_workers(const struct box *box, const struct device *device)
{
    return box->settings.auth != AUTH_NONE || device == &box->devices[0];
}

static bool waits_for(const struct client *client, const struct device *device, device_set sees)
{
    return client_first_device(client) == device && client_device_set(client) == sees;
}

static unsigned clients_waiting_for(struct box *box, const struct device *device, device_set sees)
{
    unsigned count = 0;
    struct client *client;

    for (client = client_next_queued(box, NULL); client; client = client_next_queued(box, client))
        count += waits_for(client, device, sees);
    return count;
}

static unsigned target(struct box *box, struct device *device, device_set sees)
{
    unsigned waiting = clients_waiting_for(box, device, sees);
    unsigned most = (unsigned)box->settings.parallel_starts;
    bool kept = wants_warm_workers(box, device) && sees == device_set_usual(box, device);
    unsigned warm = kept ? (unsigned)box->settings.warm_workers : 0;

    // Whoever waits gets a worker even where none is kept warm, but a crowd of clients must not
    // start a crowd of drivers at once.
    if (waiting > most)
        waiting = most;
    unsigned wanted = waiting > warm ? waiting : warm;
    // The first measures, undisturbed by others, what the broker is to know of the device.
    if (!device->measured && (wanted || box->agent))
        return 1;
    return wanted;
}

static bool retry_is_pending(const struct pool *pool)
{
    return pool->retry && evtimer_pending(pool->retry, NULL);
}

// Workers that take one of the places, or will: also those that end by themselves, until it is known how.
static unsigned count_workers(const struct box *box, const struct device *device, device_set sees)
{
    const struct worker *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &box->workers, link) {
        bool dying = worker->state == WORKER_ENDING && !worker->session.id && !worker->asked_to_end;
        count += worker->device == device && worker->sees == sees &&
                 (worker->state == WORKER_STARTING || worker->state == WORKER_WARM || dying);
    }
    return count;
}

static void start_missing(struct box *box, struct device *device, device_set sees)
{
    struct pool *pool = pool_of(box, device);
    unsigned wanted = device ? target(box, device, sees) : 1;

    // Who measures is not disturbed by another one with other devices either.
    if (device && !device->measured && pool->starting)
        return;
    while (!retry_is_pending(pool) && count_workers(box, device, sees) < wanted)
        if (worker_start(box, device, sees))
            return;
}

// Left over from clients that left, or from a larger setting, or able to reach what no client may.
static void end_surplus(struct box *box)
{
    struct worker *worker, *other;

    TAILQ_FOREACH(worker, &box->workers, link) {
        if (worker->state != WORKER_WARM)
            continue;
        unsigned warm = 0;
        TAILQ_FOREACH(other, &box->workers, link)
            warm += other->state == WORKER_WARM && other->device == worker->device &&
                    other->sees == worker->sees;
        if (warm > target(box, worker->device, worker->sees))
            worker_end(worker, CONTROL_END_REASON_SHUTDOWN,
                       "more warm workers with its devices than are wanted");
    }
}

void pool_refill(struct box *box)
{
    struct client *client;

    if (box->state == BOX_LEAVING || box->state == BOX_STOPPING || box->state == BOX_DRAINING ||
        box->awaits_gauge)
        return;
    if (!box->devices_known) {
        start_missing(box, NULL, 0);
        return;
    }
    end_surplus(box);
    for (uint32_t i = 0; i < box->device_count; i++)
        start_missing(box, &box->devices[i], device_set_usual(box, &box->devices[i]));
    for (client = client_next_queued(box, NULL); client; client = client_next_queued(box, client))
        if (client_device_set(client))
            start_missing(box, (struct device *)client_first_device(client),
                          client_device_set(client));
}

static void retry(evutil_socket_t fd, short events, void *opaque)
{
    box_review(opaque);
}

void pool_start_failed(struct box *box, struct device *device, const char *reason)
{
    struct pool *pool = pool_of(box, device);
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

void pool_stop_warm(struct box *box)
{
    struct worker *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_WARM || worker->state == WORKER_STARTING)
            worker_end(worker, CONTROL_END_REASON_SHUTDOWN, "the box takes no new sessions");
}

void pool_free(struct pool *pool)
{
    if (pool->retry)
        event_free(pool->retry);
    pool->retry = NULL;
}
