// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/history.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "broker/leases/leases.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/log_limit.h"
#include "common/security/sha256.h"

// For messages that a box can cause with each report.
static struct log_limit repeated = LOG_LIMIT(20, 60);

// Returns true if nothing has changed since the database was restored from a copy.
static bool is_restored(struct broker *broker)
{
    json_t *events = store_events(broker->store, broker->last_event - 1, 1);
    const json_t *last = json_array_get(events, 0);
    const char *kind = json_string_value(json_object_get(last, "kind"));
    bool restored = kind && !strcmp(kind, HISTORY_RESTORED);

    json_decref(events);
    return restored;
}

enum outcome history_start(struct broker *broker)
{
    uint8_t random[(sizeof(broker->run) - 1) / 2];
    enum outcome error;

    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return OUTCOME_FAILED;
    hex_encode(random, sizeof(random), broker->run);
    broker->epoch = store_epoch(broker->store);
    broker->lost = is_restored(broker);
    error = store_begin(broker->store);
    if (error)
        return error;
    error = store_add_run(broker->store, broker->run, broker->last_event, clock_wall_seconds());
    if (!error)
        return store_commit(broker->store);
    store_rollback(broker->store);
    return error;
}

bool history_has(struct broker *broker, const char *run, int64_t event)
{
    int64_t last = broker->last_event;

    if (strcmp(run, broker->run) && store_end_of_run(broker->store, run, &last))
        return false;
    return event <= last;
}

static bool is_lost(struct broker *broker, int64_t epoch, const char *run, int64_t event)
{
    return epoch == broker->epoch ? !history_has(broker, run, event) : epoch > broker->epoch;
}

int64_t history_next_epoch(int64_t last)
{
    int64_t now = clock_wall_seconds();

    return now > last ? now : last + 1;
}

static enum outcome begin_epoch(struct broker *broker, const char *kind, const struct pool_box *box,
                                int64_t seen, json_t *why, const char *actor)
{
    struct change change = {.kind = kind, .actor = actor, .box = box, .detail = why};
    int64_t epoch = history_next_epoch(broker->epoch > seen ? broker->epoch : seen);
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    json_object_set_new(why, "epoch", json_integer(epoch));
    error =
        broker_commit(broker, store_add_epoch(broker->store, epoch, clock_wall_seconds()), &change);
    if (error)
        return error;
    broker->epoch = epoch;
    broker->queue_dirty = true;
    for (size_t i = 0; i < broker->pool->box_count; i++) {
        broker->pool->boxes[i]->settled = false; // until it has registered in this epoch
        pool_order(broker->pool, broker->pool->boxes[i]);
    }
    return OUTCOME_DONE;
}

enum outcome history_leave(struct broker *broker, const struct pool_box *box, int64_t seen,
                           json_t *why, const char *actor)
{
    enum outcome error = begin_epoch(broker, "history.lost", box, seen, why, actor);

    broker->lost |= !error;
    if (!error)
        log_warn("box=%s has seen what this database has not: it was restored from an older copy; "
                 "leases that it does not know are adopted from the boxes that serve them "
                 "epoch=%" PRId64,
                 box->name, broker->epoch);
    return error;
}

enum outcome history_take_over(struct broker *broker)
{
    enum outcome error = begin_epoch(broker, "broker.taken-over", NULL, 0,
                                     json_pack("{s:s}", "run", broker->run), "broker");

    if (!error)
        log_info("took over epoch=%" PRId64, broker->epoch);
    return error;
}

enum outcome history_check_point(struct broker *broker, const struct pool_box *box,
                                 const json_t *seen, const char *actor)
{
    int64_t epoch = json_integer_value(json_object_get(seen, "epoch"));
    int64_t event = json_integer_value(json_object_get(seen, "event"));
    const char *run = json_string_value(json_object_get(seen, "run"));

    if (!seen)
        return OUTCOME_DONE;
    if (!run || strlen(run) >= sizeof(broker->run) || epoch < 0 ||
        epoch > clock_wall_seconds() + HISTORY_AHEAD_MAX)
        return OUTCOME_BAD_REQUEST;
    if (!is_lost(broker, epoch, run, event))
        return OUTCOME_DONE;
    // Data that a box got from one process of the broker are in the database of that process. Only
    // earlier data can have been lost, so the box reports that once.
    if (box->registered_here) {
        log_limited(
            &repeated, LOG_LEVEL_WARN,
            "box=%s says that it has seen what this broker has never told it: no sign of a loss",
            box->name);
        return OUTCOME_DONE;
    }
    return history_leave(broker, box, epoch,
                         json_pack("{s:s, s:I}", "run", run, "event", (json_int_t)event), actor);
}

static bool history_is_known(struct broker *broker, const char *lease)
{
    json_t *ended;

    if (pool_find_lease(broker->pool, lease))
        return true;
    ended = store_ended_lease(broker->store, lease);
    json_decref(ended);
    return ended != NULL;
}

enum outcome history_check_sessions(struct broker *broker, struct pool_box *box,
                                    const json_t *sessions, const char *actor)
{
    json_t *session;
    size_t i;

    // As above: an unknown session in a later report must end, and is no sign of a loss.
    if (box->reported_here)
        return OUTCOME_DONE;
    json_array_foreach(sessions, i, session) {
        const char *lease = json_string_value(json_object_get(session, "lease"));
        int64_t epoch = json_integer_value(json_object_get(session, "epoch"));
        if (!lease || epoch < broker->epoch || epoch > clock_wall_seconds() + HISTORY_AHEAD_MAX ||
            history_is_known(broker, lease))
            continue;
        enum outcome outcome =
            history_leave(broker, box, epoch, json_pack("{s:s}", "lease", lease), actor);
        box->reported_here = outcome == OUTCOME_DONE;
        return outcome;
    }
    box->reported_here = true;
    return OUTCOME_DONE;
}

void history_put_point(const struct broker *broker, json_t *answer)
{
    json_object_set_new(answer, "run", json_string(broker->run));
    json_object_set_new(answer, "event", json_integer(broker->last_event));
}

void history_put_leases(struct broker *broker, const struct pool_box *box, json_t *answer)
{
    const struct pool_lease *lease;
    json_t *leases = json_array(), *epochs = json_array();

    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        if (lease->state != LEASE_ENDING && lease_holds_on(lease, box)) {
            int64_t epoch = store_epoch_at(broker->store, lease->granted);
            json_array_append_new(leases, json_string(lease->id));
            json_array_append_new(epochs, json_integer(epoch));
        }
    json_object_set_new(answer, "leases", leases);
    json_object_set_new(answer, "lease_epochs", epochs);
}

enum outcome history_reconcile(struct broker *broker, const struct pool_box *box,
                               const json_t *refused, const char *actor, json_t **restored)
{
    json_t *entry, *list = json_array(), *seen = json_object();
    enum outcome error = OUTCOME_DONE;
    size_t i;

    json_array_foreach(refused, i, entry) {
        const char *id = json_string_value(entry);
        struct pool_lease *lease = id ? pool_find_lease(broker->pool, id) : NULL;
        if (error || !lease || lease->state == LEASE_ENDING || !lease_holds_on(lease, box) ||
            json_object_get(seen, id))
            continue;
        json_object_set_new(seen, id, json_true());
        if (lease->epoch < broker->epoch) {
            log_warn("lease=%s had ended before the database was restored: box=%s", id, box->name);
            error =
                broker_end_lease(broker, &lease, "ended before the database was restored", actor);
        } else {
            log_limited(&repeated, LOG_LEVEL_WARN,
                        "box=%s refuses lease=%s, which lives: it takes it again", box->name, id);
            json_array_append_new(list, json_string(id));
        }
    }
    json_decref(seen);
    *restored = list;
    return error;
}
