// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/away.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

static void tell_boxes(struct broker *broker, const struct pool_lease *lease)
{
    for (size_t i = 0; i < lease->hold_count; i++) {
        lease->holds[i].box->suspensions++;
        pool_order(broker->pool, lease->holds[i].box);
    }
}

// After the commit.
static void away_set(struct broker *broker, struct pool_lease *lease,
                     enum lease_suspension suspension, bool idle)
{
    pool_set_suspension(broker->pool, lease, suspension);
    lease->idle = idle;
    broker->queue_dirty |= suspension == LEASE_RETURNING;
    tell_boxes(broker, lease);
    log_info("lease=%s suspension=%s", lease->id,
             suspension == LEASE_HERE ? "none" : lease_suspension_names[suspension]);
}

static enum outcome write_suspension(struct broker *broker, struct pool_lease *lease,
                                     enum lease_suspension suspension, bool idle)
{
    struct pool_lease changed = *lease;

    changed.suspension = suspension;
    changed.idle = idle;
    return store_update_lease(broker->store, &changed, lease->state,
                              lease->reason ? lease->reason : "", lease->ended);
}

static const char idleness[] = "it is idle";

static enum outcome change_to(struct broker *broker, struct pool_lease *lease,
                              enum lease_suspension suspension, const char *kind,
                              const char *reason, const char *actor)
{
    bool idle = suspension == LEASE_AWAY ? reason == idleness
                                         : suspension == LEASE_RETURNING && lease->idle;
    struct change change = {.kind = kind, .actor = actor, .lease = lease};
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    change.detail = reason ? json_pack("{s:s}", "reason", reason) : json_object();
    error = broker_commit(broker, write_suspension(broker, lease, suspension, idle), &change);
    if (!error)
        away_set(broker, lease, suspension, idle);
    return error;
}

static bool has_left(const struct pool_lease *lease)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].aside)
            return true;
    return false;
}

// ---- orders ----

static enum outcome away_check(const struct pool_lease *lease)
{
    switch (lease->state) {
    case LEASE_QUEUED: return OUTCOME_QUEUED;
    case LEASE_GRANTED:
    case LEASE_LOST: return OUTCOME_DONE;
    case LEASE_ENDING:
    case LEASE_ENDED: break;
    }
    return OUTCOME_ENDED;
}

enum outcome broker_suspend_lease(struct broker *broker, struct pool_lease *lease,
                                  const char *actor)
{
    enum outcome error = away_check(lease);

    if (error || (lease->suspension == LEASE_AWAY && !lease->idle))
        return error;
    free(lease->refusal);
    lease->refusal = NULL;
    return change_to(broker, lease, LEASE_AWAY, "lease.suspending", NULL, actor);
}

enum outcome broker_resume_lease(struct broker *broker, struct pool_lease *lease, const char *actor)
{
    enum outcome error = away_check(lease);

    if (error || lease->suspension != LEASE_AWAY)
        return error;
    // A lease that has not left yet stays.
    if (!has_left(lease))
        return change_to(broker, lease, LEASE_HERE, "lease.resumed", NULL, actor);
    error = change_to(broker, lease, LEASE_RETURNING, "lease.returning", NULL, actor);
    if (!error)
        broker_serve_returning(broker);
    return error;
}

json_t *broker_suspensions(const struct broker *broker, const struct pool_box *box, bool idle)
{
    json_t *list = json_array();
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &broker->pool->displaced, displaced)
        if (lease->suspension != LEASE_HERE && lease->idle == idle &&
            lease->state != LEASE_ENDING && lease_holds_on(lease, box))
            json_array_append_new(list, json_string(lease->id));
    return list;
}

// ---- what boxes say ----

static bool holds_there(const struct pool_lease *lease, const struct pool_box *box)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].held && lease->holds[i].box == box)
            return true;
    return false;
}

// A lease on its way to another GPU returns there.
static struct pool_hold away_set_aside(const struct pool_hold *hold)
{
    struct pool_hold changed = *hold;

    changed.held = false;
    changed.moved |= hold->target != NULL;
    changed.gpu = hold->target ? hold->target : hold->gpu;
    changed.target = NULL;
    return changed;
}

static enum outcome write_aside(struct broker *broker, const struct pool_lease *lease,
                                const struct pool_hold *hold)
{
    struct pool_hold changed = away_set_aside(hold);

    return hold->target ? store_put_hold(broker->store, lease->id, &changed)
                        : store_release_hold(broker->store, lease->id, hold->ordinal);
}

// Its sessions have left the box's GPUs, which are for others now.
static enum outcome away_give_way(struct broker *broker, struct pool_box *box,
                                  struct pool_lease *lease, const char *actor)
{
    struct change change = {.kind = "lease.suspended", .actor = actor, .box = box, .lease = lease};
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    change.detail = json_object();
    for (size_t i = 0; !error && i < lease->hold_count; i++)
        if (lease->holds[i].held && lease->holds[i].box == box)
            error = write_aside(broker, lease, &lease->holds[i]);
    error = broker_commit(broker, error, &change);
    if (error)
        return error;
    for (size_t i = 0; i < lease->hold_count; i++) {
        struct pool_hold *hold = &lease->holds[i];
        if (!hold->held || hold->box != box)
            continue;
        struct pool_hold changed = away_set_aside(hold);
        pool_give_up(broker->pool, hold);
        *hold = changed;
        hold->aside = true;
    }
    return OUTCOME_DONE;
}

// If one box cannot suspend its part, the others resume theirs.
static enum outcome away_stay(struct broker *broker, struct pool_lease *lease, const char *reason,
                              const char *actor)
{
    enum outcome error = change_to(broker, lease, has_left(lease) ? LEASE_RETURNING : LEASE_HERE,
                                   "lease.not-suspended", reason, actor);

    if (error)
        return error;
    free(lease->refusal);
    lease->refusal = pool_copy_text(reason);
    return OUTCOME_DONE;
}

static bool is_all_on(const struct pool_lease *lease, const struct pool_box *box)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (hold_stands(&lease->holds[i]) && lease->holds[i].box != box)
            return false;
    return true;
}

// Handles the report that the lease's sessions on BOX were idle and have been taken off its GPUs,
// or if CALLS that they have work again. The boxes of one lease report this independently, so a
// lease with GPUs of several boxes keeps its GPUs.
static enum outcome hear_idle(struct broker *broker, struct pool_box *box, struct pool_lease *lease,
                              bool calls, const char *actor)
{
    enum outcome error = OUTCOME_DONE;

    if (lease->suspension == LEASE_HERE && calls)
        tell_boxes(broker, lease);
    // The box says it again with its next report.
    if (lease->suspension == LEASE_HERE && !calls && is_all_on(lease, box) && box_may_write(box))
        error = change_to(broker, lease, LEASE_AWAY, "lease.suspending", idleness, actor);
    if (!error && lease->suspension == LEASE_AWAY && holds_there(lease, box))
        error = away_give_way(broker, box, lease, actor);
    if (error || lease->suspension != LEASE_AWAY || !lease->idle || !calls)
        return error;
    return broker_resume_lease(broker, lease, actor);
}

static enum outcome away_hear(struct broker *broker, struct pool_box *box, const json_t *said,
                              const char *actor)
{
    const char *id = json_string_value(json_object_get(said, "lease"));
    const char *state = json_string_value(json_object_get(said, "state"));
    char reason[BOX_REASON_MAX];
    struct pool_lease *lease = id ? pool_find_lease(broker->pool, id) : NULL;

    if (lease && lease->state == LEASE_GRANTED && state && !strcmp(state, "suspended") &&
        json_is_true(json_object_get(said, "idle")) && lease_holds_on(lease, box))
        return hear_idle(broker, box, lease, json_is_true(json_object_get(said, "calls")), actor);
    if (!lease || !state || lease->suspension == LEASE_HERE || !holds_there(lease, box))
        return OUTCOME_DONE;
    if (!strcmp(state, "suspended"))
        return away_give_way(broker, box, lease, actor);
    if (!strcmp(state, "running") && broker_read_reason(said, reason) &&
        lease->suspension == LEASE_AWAY)
        return away_stay(broker, lease, reason, actor);
    return OUTCOME_DONE;
}

enum outcome broker_hear_suspensions(struct broker *broker, struct pool_box *box,
                                     const json_t *list, const char *actor)
{
    enum outcome error = OUTCOME_DONE;
    const json_t *said;
    size_t i;

    json_array_foreach(list, i, said)
        if (!error)
            error = away_hear(broker, box, said, actor);
    return error;
}

// ---- returning ----

// Like a grant, but regardless of drains: running leases go on. No lease returns to a GPU before
// those that wanted to earlier, or while the box runs sessions of leases that are not known there:
// after the database was restored, they may be on that GPU.
static bool away_has_room(const struct broker *broker, const struct pool_lease *lease)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].aside &&
            (!lease->holds[i].box->settled ||
             !lease_fits_gpu(lease, &lease->holds[i], lease->holds[i].gpu) ||
             pool_is_awaited(broker->pool, lease->holds[i].gpu, lease)))
            return false;
    return true;
}

static enum outcome retake(struct broker *broker, const struct pool_lease *lease)
{
    enum outcome error = OUTCOME_DONE;

    for (size_t i = 0; !error && i < lease->hold_count; i++) {
        const struct pool_hold *hold = &lease->holds[i];
        if (!hold->aside)
            continue;
        if (hold->mode != hold->gpu->mode)
            error = store_set_gpu_mode(broker->store, hold->gpu->uuid, hold->mode, true);
        if (!error)
            error = store_retake_hold(broker->store, lease->id, hold);
    }
    return error;
}

static enum outcome come_back(struct broker *broker, struct pool_lease *lease)
{
    struct change change = {.kind = "lease.resumed", .actor = "broker", .lease = lease};
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    change.detail = json_object();
    error = retake(broker, lease);
    if (!error)
        error = write_suspension(broker, lease, LEASE_HERE, false);
    error = broker_commit(broker, error, &change);
    if (error)
        return error;
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].aside) {
            lease->holds[i].aside = false;
            pool_take(&lease->holds[i]);
        }
    away_set(broker, lease, LEASE_HERE, false);
    return OUTCOME_DONE;
}

void broker_serve_returning(struct broker *broker)
{
    struct pool_lease *lease, *next;

    for (lease = TAILQ_FIRST(&broker->pool->returning); lease && !broker->storage.broken;
         lease = next) {
        next = TAILQ_NEXT(lease, returning);
        if (lease->state == LEASE_GRANTED && away_has_room(broker, lease) &&
            come_back(broker, lease))
            return;
    }
}
