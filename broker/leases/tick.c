// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/holder.h"
#include "broker/pool/forecast.h"
#include "broker/pool/queue.h"
#include "broker/leases/queue_pass.h"
#include "broker/leases/tick.h"

#include "broker/leases/leases.h"
#include "common/base/clock.h"
#include "common/base/log.h"

// A lease that could not be renewed, since the broker was away, lives at least so long after that.
enum { GRACE_SECONDS = 60 };

// The broker looks every second (broker/api/http.c). It was away if it did not look for this long.
#define AWAY_ITSELF_SECONDS 2.0

// If the broker itself did not run (it was stopped, or its host slept), it received no reports of
// boxes and clients. Their time limits are extended by that time.
static void forgive_own_absence(struct broker *broker)
{
    double now = clock_boot_seconds(), absent = now - broker->last_tick;
    struct pool_lease *lease;

    if (absent > AWAY_ITSELF_SECONDS) {
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

// A wall clock that is set must neither end leases early nor keep them for ever.
static void watch_clock(struct broker *broker)
{
    int64_t offset = clock_wall_seconds() - (int64_t)clock_boot_seconds();
    int64_t jump = offset - broker->wall_minus_steady;
    struct change change = {.kind = "clock.changed", .actor = "broker"};
    struct pool_lease *lease;
    enum outcome error;

    if (jump >= -2 && jump <= 2)
        return;
    log_warn("the clock was changed: seconds=%lld", (long long)jump);
    change.detail = json_pack("{s:I}", "seconds", (json_int_t)jump);
    error = broker_begin(broker, &change);
    if (error)
        return;
    if (broker_commit(broker, store_shift_expiry(broker->store, jump), &change))
        return;
    broker->wall_minus_steady = offset;
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        if (lease->expires)
            lease->expires += jump;
}

static void expire_leases(struct broker *broker)
{
    struct pool_lease *lease, *next;
    double now = clock_boot_seconds();

    for (lease = TAILQ_FIRST(&broker->pool->leases); lease; lease = next) {
        next = TAILQ_NEXT(lease, all);
        if (lease->deadline == 0 || lease->deadline > now || lease->state == LEASE_ENDING)
            continue;
        if (broker_end_lease(broker, &lease, "expired", "broker"))
            return;
        broker->counters.expirations++;
    }
}

// Marks the leases of a box that has fallen silent as lost: it is not known what still runs there.
static void lose_box(struct broker *broker, struct pool_box *box)
{
    json_t *lost = json_array();
    struct change change = {.kind = "box.away",
                            .actor = "broker",
                            .box = box,
                            .detail = json_pack("{s:o}", "leases", lost)};
    struct pool_lease *lease;
    enum outcome error = broker_begin(broker, &change);

    box->connected = false;
    if (error)
        return;
    TAILQ_FOREACH(lease, &broker->pool->leases, all) {
        if (error || lease->state != LEASE_GRANTED || !lease_holds_on(lease, box))
            continue;
        json_array_append_new(lost, json_string(lease->id));
        error = store_update_lease(broker->store, lease, LEASE_LOST, "", 0);
    }
    if (broker_commit(broker, error, &change))
        return;
    log_warn("box=%s is away: silent for %.0f s", box->name, clock_boot_seconds() - box->heard);
    box->known_lost = true;
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        if (lease->state == LEASE_GRANTED && lease_holds_on(lease, box))
            pool_move_lease(broker->pool, lease, LEASE_LOST);
}

static void watch_boxes(struct broker *broker)
{
    double silent = clock_boot_seconds() - broker->limits.away_seconds;

    for (size_t i = 0; i < broker->pool->box_count; i++) {
        struct pool_box *box = broker->pool->boxes[i];
        if (!box->known_lost && box->heard < silent)
            lose_box(broker, box);
    }
}

static void tick_trim(struct broker *broker)
{
    enum outcome error;

    if (clock_boot_seconds() < broker->next_trim || broker->storage.broken ||
        broker->storage.disk_full)
        return;
    broker->next_trim = clock_boot_seconds() + 600;
    error = store_begin(broker->store);
    if (!error)
        error = store_trim(broker->store, clock_wall_seconds() - broker->limits.history_seconds,
                           (uint64_t)broker->limits.keep_events);
    if (error)
        store_rollback(broker->store);
    else if (store_commit(broker->store))
        log_warn("old leases and events could not be removed");
}

// A scheduler that asks no more keeps nothing.
static void forget_plans(struct broker *broker)
{
    struct pool *pool = broker->pool;

    if (pool->planned_count == 0 || clock_seconds() < pool->planned_until)
        return;
    forecast_forget(pool);
    broker->queue_dirty = true;
}

void broker_tick(struct broker *broker)
{
    holder_check(broker->holder);
    forgive_own_absence(broker);
    watch_clock(broker);
    expire_leases(broker);
    watch_boxes(broker);
    tick_trim(broker);
    storage_watch(&broker->storage, broker->store);
    forget_plans(broker);
    queue_tick(broker->pool->queue);
    broker_serve_queue(broker);
}
