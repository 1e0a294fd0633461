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

static unsigned clients_waiting_for(struct box *box, const struct device *device)
{
    unsigned count = 0;
    struct client *client;

    for (client = client_next_queued(box, NULL); client; client = client_next_queued(box, client))
        count += client_first_device(client) == device;
    return count;
}

static unsigned target(struct box *box, struct device *device)
{
    unsigned waiting = clients_waiting_for(box, device);
    unsigned most = (unsigned)box->settings.parallel_starts;
    unsigned warm = wants_warm_workers(box, device) ? (unsigned)box->settings.warm_workers : 0;

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

static void refill_one(struct box *box, struct device *device, unsigned wanted)
{
    struct pool *pool = pool_of(box, device);

    while (!retry_is_pending(pool) && pool->starting + pool->warm + pool->dying < wanted)
        if (worker_start(box, device))
            return;
    // Left over from clients that left, or from a larger setting.
    while (device && pool->warm > wanted)
        worker_end(worker_find_warm(box, device), CONTROL_END_REASON_SHUTDOWN,
                   "more warm workers than warm_workers");
}

void pool_refill(struct box *box)
{
    if (box->state == BOX_LEAVING || box->state == BOX_STOPPING || box->state == BOX_DRAINING)
        return;
    if (!box->devices_known) {
        refill_one(box, NULL, 1);
        return;
    }
    for (uint32_t i = 0; i < box->device_count; i++)
        refill_one(box, &box->devices[i], target(box, &box->devices[i]));
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
