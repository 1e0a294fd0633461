// SPDX-License-Identifier: BSD-3-Clause
/* The broker's state as a whole: opening, transactions with their event, the passage of time. */
#include "broker/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/history.h"
#include "broker/queue.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"

int64_t broker_wall(void)
{
    return (int64_t)(clock_read_ns(CLOCK_REALTIME) / 1000000000u);
}

double broker_steady(void)
{
    return (double)clock_read_ns(CLOCK_BOOTTIME) * 1e-9;
}

int broker_open(const char *path, bool full_sync, struct broker *broker)
{
    struct pool_lease *lease;
    int error;

    broker->pool = pool_new();
    if (!broker->pool)
        return -ENOMEM;
    reserve_init(&broker->reserve, path);
    if (!reserve_has_margin(&broker->reserve)) {
        /* Leases must end on a full disk too, and for that the database must be opened. */
        reserve_give(&broker->reserve);
        broker_note_storage(broker, -ENOSPC);
    }
    error = store_open(path, full_sync, &broker->store);
    if (!error)
        error = store_load(broker->store, broker->pool);
    if (error) {
        broker_close(broker);
        return error;
    }
    broker->last_sequence = store_last_sequence(broker->store);
    broker->last_event = store_last_event(broker->store);
    error = history_start(broker);
    if (error) {
        broker_close(broker);
        return error;
    }
    broker->wall_minus_steady = broker_wall() - (int64_t)broker_steady();
    TAILQ_FOREACH(lease, &broker->pool->leases, all) {
        if (lease->expires && lease->state == LEASE_QUEUED) /* renewals of those are not written */
            lease->expires = broker_wall() + lease->lifetime;
        if (lease->expires)
            lease->deadline = broker_steady() + (double)(lease->expires - broker_wall());
        if (lease->state == LEASE_QUEUED && queue_join(broker->pool->queue, lease) < 0)
            return -ENOMEM;
    }
    /* Boxes get their whole grace from now on: it was the broker that was away. */
    for (size_t i = 0; i < broker->pool->box_count; i++)
        broker->pool->boxes[i]->heard = broker_steady();
    broker->queue_dirty = true;
    error = broker->disk_full ? 0 : reserve_take(&broker->reserve);
    if (error)
        log_warn("no room is kept for the end of leases on a full disk: reserve=%s error=\"%s\"",
                 broker->reserve.path, strerror(-error));
    return 0;
}

void broker_close(struct broker *broker)
{
    pool_free(&broker->pool);
    store_close(&broker->store);
    explicit_bzero(&broker->keys, sizeof(broker->keys));
}

int broker_begin(struct broker *broker)
{
    return broker_has_room(broker) ? broker_begin_release(broker) : -ENOSPC;
}

int broker_begin_release(struct broker *broker)
{
    int error = broker->broken ? broker->broken : store_begin(broker->store);

    if (error)
        broker_note_storage(broker, error);
    return error;
}

int broker_commit(struct broker *broker, int error, const struct change *change)
{
    struct store_event event = {
        .kind = change->kind,
        .actor = change->actor,
        .box = change->box ? change->box->name : NULL,
        .gpu = change->gpu ? change->gpu->uuid : NULL,
        .lease = change->lease ? change->lease->id : NULL,
        .detail = change->detail,
    };
    double start = broker_steady();

    if (!error)
        error = fault_point("core.before_event");
    if (!error)
        error = store_add_event(broker->store, broker_wall(), &event);
    if (error)
        store_rollback(broker->store);
    else
        error = store_commit(broker->store);
    histogram_add(&broker->commits, broker_steady() - start);
    json_decref(change->detail);
    broker_note_storage(broker, error);
    if (!error)
        broker->last_event++;
    return error;
}

/* What a lease keeps at least whose owner could not renew it, since nobody was there to hear him. */
enum { GRACE_SECONDS = 60 };

/* The broker looks every second (broker/http.c). It was away if it did not look for this long. */
#define AWAY_ITSELF_SECONDS 2.0

/*
 * Boxes and clients that were not heard because the broker itself did not run (it was stopped, or
 * its host slept) have done nothing wrong: their time goes on where it stood.
 */
static void forgive_own_absence(struct broker *broker)
{
    double now = broker_steady(), absent = now - broker->last_tick;
    bool was_away = broker->last_tick > 0 && absent > AWAY_ITSELF_SECONDS;
    struct pool_lease *lease;

    if (was_away) {
        log_warn("the broker itself was away: seconds=%.1f; boxes and leases get that time back",
                 absent);
        for (size_t i = 0; i < broker->pool->box_count; i++)
            broker->pool->boxes[i]->heard += absent;
        TAILQ_FOREACH(lease, &broker->pool->leases, all)
            if (lease->deadline > broker->last_tick && lease->deadline < now + GRACE_SECONDS)
                lease->deadline = now + GRACE_SECONDS;
    }
    broker->last_tick = now;
}

/* A wall clock that is set must neither end leases early nor keep them for ever. */
static void watch_clock(struct broker *broker)
{
    int64_t offset = broker_wall() - (int64_t)broker_steady();
    int64_t jump = offset - broker->wall_minus_steady;
    struct change change = {.kind = "clock.changed", .actor = "broker"};
    struct pool_lease *lease;
    int error;

    if (jump >= -2 && jump <= 2)
        return;
    log_warn("the clock was changed: seconds=%lld", (long long)jump);
    change.detail = json_pack("{s:I}", "seconds", (json_int_t)jump);
    error = broker_begin(broker);
    if (error) {
        json_decref(change.detail);
        return;
    }
    if (broker_commit(broker, store_shift_expiry(broker->store, jump), &change) < 0)
        return;
    broker->wall_minus_steady = offset;
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        if (lease->expires)
            lease->expires += jump;
}

static void expire_leases(struct broker *broker)
{
    struct pool_lease *lease, *next;
    double now = broker_steady();

    for (lease = TAILQ_FIRST(&broker->pool->leases); lease; lease = next) {
        next = TAILQ_NEXT(lease, all);
        if (lease->deadline == 0 || lease->deadline > now || lease->state == LEASE_ENDING)
            continue;
        if (broker_end_lease(broker, &lease, "expired", "broker") < 0)
            return;
        broker->counters.expirations++;
    }
}

/* Marks the leases of a box that has fallen silent: nobody knows what runs there. */
static void lose_box(struct broker *broker, struct pool_box *box)
{
    json_t *lost = json_array();
    struct change change = {.kind = "box.away", .actor = "broker", .box = box,
                            .detail = json_pack("{s:o}", "leases", lost)};
    struct pool_lease *lease;
    int error = broker_begin(broker);

    box->connected = false;
    if (error) {
        json_decref(change.detail);
        return;
    }
    TAILQ_FOREACH(lease, &broker->pool->leases, all) {
        if (error || lease->state != LEASE_GRANTED || !lease_holds_on(lease, box))
            continue;
        json_array_append_new(lost, json_string(lease->id));
        error = store_update_lease(broker->store, lease, LEASE_LOST, "", 0);
    }
    if (broker_commit(broker, error, &change) < 0)
        return;
    log_warn("box=%s is away: silent for %.0f s", box->name, broker_steady() - box->heard);
    box->known_lost = true;
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        if (lease->state == LEASE_GRANTED && lease_holds_on(lease, box))
            pool_move_lease(broker->pool, lease, LEASE_LOST);
}

static void watch_boxes(struct broker *broker)
{
    double silent = broker_steady() - broker->limits.away_seconds;

    for (size_t i = 0; i < broker->pool->box_count; i++) {
        struct pool_box *box = broker->pool->boxes[i];
        if (!box->known_lost && box->heard < silent)
            lose_box(broker, box);
    }
}

static void trim(struct broker *broker)
{
    int error;

    if (broker_steady() < broker->next_trim || broker->broken || broker->disk_full)
        return;
    broker->next_trim = broker_steady() + 600;
    error = store_begin(broker->store);
    if (!error)
        error = store_trim(broker->store, broker_wall() - broker->limits.history_seconds,
                           (uint64_t)broker->limits.keep_events);
    if (error)
        store_rollback(broker->store);
    else if (store_commit(broker->store) < 0)
        log_warn("old leases and events could not be removed");
}

void broker_tick(struct broker *broker)
{
    forgive_own_absence(broker);
    watch_clock(broker);
    expire_leases(broker);
    watch_boxes(broker);
    trim(broker);
    broker_watch_storage(broker);
    broker_serve_queue(broker);
}
