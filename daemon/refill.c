// SPDX-License-Identifier: BSD-3-Clause
// See refill.h.
#include "daemon/refill.h"

#include "common/clock.h"
#include "daemon/waiting_clients.h"
#include "daemon/warm_pool.h"
#include "daemon/worker_life.h"

// Without tickets every client is granted all devices in the box's order, so its first is the box's first.
static bool wants_warm_workers(const struct box *box, const struct box_device *device)
{
    return box->settings.auth != AUTH_NONE || device == &box->devices[0];
}

static bool waits_for(const struct client *client, const struct box_device *device, device_set sees)
{
    return waiting_first_device(client) == device && waiting_device_set(client) == sees;
}

static unsigned clients_waiting_for(struct box *box, const struct box_device *device,
                                    device_set sees)
{
    unsigned count = 0;
    struct client *client;

    for (client = waiting_next(box, NULL); client; client = waiting_next(box, client))
        count += waits_for(client, device, sees);
    return count;
}

static unsigned target(struct box *box, struct box_device *device, device_set sees)
{
    unsigned waiting = clients_waiting_for(box, device, sees);
    unsigned most = (unsigned)box->settings.parallel_starts;
    bool kept = wants_warm_workers(box, device) && sees == box_device_set_usual(box, device);
    unsigned warm = kept ? (unsigned)box->settings.warm_workers : 0;

    // A client that waits gets a worker even where none is kept warm, but many clients at once must not have many
    // drivers started at once.
    if (waiting > most)
        waiting = most;
    unsigned wanted = waiting > warm ? waiting : warm;
    // The first worker of a device measures what a context takes, and is started alone: others would disturb it.
    if (!device->measured && (wanted || box->agent))
        return 1;
    return wanted;
}

// Workers that occupy a place. One that ends by itself does so until it is reaped and it is known how it ended.
static unsigned count_workers(const struct box *box, const struct box_device *device,
                              device_set sees)
{
    const struct worker_process *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &box->workers, link) {
        bool dying = worker->state == WORKER_ENDING && !worker->session.id && !worker->asked_to_end;
        count += worker->device == device && worker->sees == sees &&
                 (worker->state == WORKER_STARTING || worker->state == WORKER_WARM || dying);
    }
    return count;
}

// A start takes processors and the driver's locks away from others, so that it waits for a session that is just
// being opened; not for ever, as a client may go no further. Microseconds; 0: there is none.
static uint64_t opening_for(const struct box *box, const struct box_device *device)
{
    const struct worker_process *worker;
    uint64_t longest = 0, most = box->settings.handshake_timeout;

    TAILQ_FOREACH(worker, &box->workers, link) {
        const struct session_record *session = &worker->session;
        if (worker->device != device || worker->state != WORKER_SERVING ||
            *session->stats.transport)
            continue;
        uint64_t since = (uint64_t)(clock_ms() - session->since_ms) * 1000;
        uint64_t left = since < most ? most - since : 0;
        longest = left > longest ? left : longest;
    }
    return longest;
}

static void has_waited(evutil_socket_t fd, short events, void *argument)
{
    box_changed(argument);
}

static bool await_opening(struct box *box, struct box_device *device, device_set sees)
{
    struct warm_pool *pool = &device->pool;
    uint64_t wait = opening_for(box, device);
    struct timeval delay = {.tv_sec = (time_t)(wait / 1000000),
                            .tv_usec = (suseconds_t)(wait % 1000000)};

    if (!wait || clients_waiting_for(box, device, sees))
        return false;
    if (!pool->opened)
        pool->opened = evtimer_new(box->base, has_waited, box);
    return pool->opened && !evtimer_add(pool->opened, &delay);
}

static void start_missing(struct box *box, struct box_device *device, device_set sees)
{
    struct warm_pool *pool = warm_pool_of(box, device);
    unsigned wanted = device ? target(box, device, sees) : 1;

    // A worker that reaches other devices as well would also disturb the measurement.
    if (device && !device->measured && pool->starting)
        return;
    if (device && count_workers(box, device, sees) < wanted && await_opening(box, device, sees))
        return;
    while (!warm_pool_pauses(pool) && count_workers(box, device, sees) < wanted)
        if (worker_start(box, device, sees))
            return;
}

// Ends warm workers that are left over: their clients have left, the setting was larger, or no client may use all the
// devices that they reach.
static void end_surplus(struct box *box)
{
    struct worker_process *worker, *other;

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

void refill_pools(struct box *box)
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
        start_missing(box, &box->devices[i], box_device_set_usual(box, &box->devices[i]));
    for (client = waiting_next(box, NULL); client; client = waiting_next(box, client))
        if (waiting_device_set(client))
            start_missing(box, (struct box_device *)waiting_first_device(client),
                          waiting_device_set(client));
}

void refill_stop_warm(struct box *box)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_WARM || worker->state == WORKER_STARTING)
            worker_end(worker, CONTROL_END_REASON_SHUTDOWN, "the box takes no new sessions");
}
