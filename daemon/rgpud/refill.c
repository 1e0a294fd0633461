// SPDX-License-Identifier: BSD-3-Clause
// Workers for waiting clients start first, in the order of arrival. Workers for future clients
// start only if that does not disturb sessions (disturbance.h).
#include "daemon/rgpud/refill.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/disturbance.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/clients/waiting_clients.h"
#include "daemon/rgpud/workers/warm_pool.h"
#include "daemon/rgpud/supervision/worker_life.h"

enum { LOOK_AGAIN_US = 250000 };

// ---- workers promised to clients ----

// Returns true if the worker occupies a slot of its pool, from its start until it serves. A worker
// that ended by itself keeps its slot until it is reaped and the reason is known.
static bool has_place(const struct worker_process *worker)
{
    return worker->state == WORKER_STARTING || worker->state == WORKER_WARM ||
           (worker->state == WORKER_ENDING && !worker->session.id && !worker->asked_to_end);
}

static bool refill_is_free(const struct worker_process *worker, const struct box_device *device,
                           device_set sees, struct mps_part part)
{
    return has_place(worker) && !worker->promised && worker->device == device &&
           worker->sees == sees && mps_part_equal(worker->part, part) &&
           worker->mps == mps_serves(device, sees);
}

static unsigned count_free(const struct box *box, const struct box_device *device, device_set sees,
                           bool warm_only)
{
    const struct worker_process *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &box->workers, link)
        count += refill_is_free(worker, device, sees, (struct mps_part){0}) &&
                 (!warm_only || worker->state == WORKER_WARM);
    return count;
}

static void forget_promises(struct box *box)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        worker->promised = false;
}

static bool promise(struct box *box, const struct box_device *device, device_set sees,
                    struct mps_part part)
{
    struct worker_process *worker, *found = NULL;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (refill_is_free(worker, device, sees, part) && (!found || worker->state == WORKER_WARM))
            found = worker;
    if (found)
        found->promised = true;
    return found != NULL;
}

// ---- starting ----

// Returns true if one more worker may start. The limit of parallel starts is the same for all
// reasons. The first worker measures the memory of a context and starts alone, since other starts
// would disturb the measurement.
static bool may_start(struct box *box, struct box_device *device, device_set sees, unsigned most)
{
    const struct warm_pool *pool = warm_pool_of(box, device);

    if (mps_holds_up(device, sees))
        return false;
    if (device && !device->measured)
        most = 1;
    return !warm_pool_pauses(pool) && pool->starting + pool->dying < most;
}

static void start_for_waiting(struct box *box)
{
    unsigned most = (unsigned)box->settings.parallel_starts;
    struct client *client;

    for (client = waiting_next(box, NULL); client; client = waiting_next(box, client)) {
        struct box_device *device = (struct box_device *)waiting_first_device(client);
        device_set sees = waiting_device_set(client);
        struct mps_part part = waiting_part(client);
        if (!device || promise(box, device, sees, part) || !may_start(box, device, sees, most))
            continue;
        if (!worker_start(box, device, sees, part))
            promise(box, device, sees, part);
    }
}

// ---- workers for future clients ----

// Returns the number of warm workers that a device needs. Without tickets every client gets all
// devices in the box's order, so only the first device needs some. Other devices get one worker
// once if the broker must know the memory of their contexts. A drained GPU gets none, so that a
// reset of it is possible.
static unsigned warm_wanted(const struct box *box, const struct box_device *device)
{
    bool kept = box->settings.auth != AUTH_NONE || device == &box->devices[0];
    unsigned wanted = kept && !device->drained ? (unsigned)box->settings.warm_workers : 0;

    return device->measured || (!wanted && !box->agent) ? wanted : 1;
}

// Ends surplus warm workers: their clients have left, the setting was larger before, or no client
// may use all the devices that they reach.
static void end_surplus(struct box *box)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        const struct box_device *device = worker->device;
        if (worker->state != WORKER_WARM || worker->promised)
            continue;
        bool usual = worker->sees == box_device_set_usual(box, device);
        // Its GPU is shared in another way now, or the client that wanted a part of the GPU has
        // left.
        bool obsolete = worker->part.compute || worker->mps != mps_serves(device, worker->sees);
        if (obsolete ||
            count_free(box, device, worker->sees, true) > (usual ? warm_wanted(box, device) : 0))
            worker_end(worker, CONTROL_END_REASON_SHUTDOWN,
                       "more warm workers with its devices than are wanted");
    }
}

// Returns true if a session is opening. Starts wait for it, at most for handshake_timeout, since a
// client may stop halfway.
static bool is_being_opened(const struct box *box, const struct box_device *device)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        const struct session_record *session = &worker->session;
        if (worker->device == device && worker->state == WORKER_SERVING &&
            !*session->stats.transport &&
            (uint64_t)(clock_ms() - session->since_ms) * 1000 < box->settings.handshake_timeout)
            return true;
    }
    return false;
}

static void refill_again(evutil_socket_t fd, short events, void *argument)
{
    box_changed(argument);
}

static void refill_hold(struct box *box, struct warm_pool *pool, const char *why)
{
    struct timeval delay = {.tv_usec = LOOK_AGAIN_US};

    pool->held = why;
    if (!pool->again)
        pool->again = evtimer_new(box->base, refill_again, box);
    if (pool->again)
        evtimer_add(pool->again, &delay);
}

static enum pace pace_of(struct box *box, struct box_device *device, const char **why)
{
    struct disturbance now;

    if (is_being_opened(box, device)) {
        *why = "a session is being opened";
        return PACE_NONE;
    }
    disturbance_measure(box, device, &now);
    now.short_us = (uint64_t)(clock_ms() - device->pool.short_since_ms) * 1000;
    return disturbance_pace(&now, why);
}

static unsigned count_starting_for_clients(const struct box *box, const struct box_device *device)
{
    const struct worker_process *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &box->workers, link)
        count += worker->device == device && worker->state == WORKER_STARTING && worker->promised;
    return count;
}

static void keep_warm(struct box *box, struct box_device *device)
{
    struct warm_pool *pool = &device->pool;
    device_set sees = box_device_set_usual(box, device);
    unsigned have = count_free(box, device, sees, false), wanted = warm_wanted(box, device);
    const char *why;

    pool->held = NULL;
    if (have >= wanted) {
        pool->short_since_ms = 0;
        return;
    }
    if (!pool->short_since_ms)
        pool->short_since_ms = clock_ms();
    enum pace pace = pace_of(box, device, &why);
    if (pace == PACE_NONE) {
        refill_hold(box, pool, why);
        return;
    }
    unsigned most = (unsigned)box->settings.parallel_starts;
    unsigned beside = count_starting_for_clients(box, device);
    if (pace == PACE_ONE && beside < most)
        most = beside + 1;
    for (; have < wanted && may_start(box, device, sees, most); have++)
        if (worker_start(box, device, sees, (struct mps_part){0}))
            return;
}

// ---- the review ----

void refill_pools(struct box *box)
{
    if (box->state == BOX_LEAVING || box->state == BOX_STOPPING || box->state == BOX_DRAINING ||
        box->awaits_monitor)
        return;
    if (!box->devices_known) {
        if (may_start(box, NULL, 0, 1) && !worker_start(box, NULL, 0, (struct mps_part){0}))
            log_debug("the first worker shows the devices");
        return;
    }
    forget_promises(box);
    start_for_waiting(box);
    end_surplus(box);
    for (uint32_t i = 0; i < box->device_count; i++)
        keep_warm(box, &box->devices[i]);
}

void refill_stop_warm(struct box *box)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_WARM || worker->state == WORKER_STARTING)
            worker_end(worker, CONTROL_END_REASON_SHUTDOWN, "the box takes no new sessions");
}
