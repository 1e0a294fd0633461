// SPDX-License-Identifier: BSD-3-Clause
// Reports, absence and removal of registered boxes.
#include "broker/leases/boxes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/columns.h"
#include "broker/leases/history.h"
#include "broker/leases/leases.h"
#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/log.h"
#include "common/base/log_limit.h"

static struct log_limit settling = LOG_LIMIT(20, 60);

// ---- reports ----

// The box refuses the lease permanently and has ended its sessions: the GPUs that the lease held
// there are free.
static enum outcome try_confirm_end(struct broker *broker, struct pool_box *box,
                                    struct pool_lease *lease, const char *actor)
{
    bool others = false;
    struct change change = {.actor = actor, .box = box, .lease = lease};
    enum outcome error;

    for (size_t i = 0; i < lease->hold_count; i++)
        others |= hold_stands(&lease->holds[i]) && lease->holds[i].box != box;
    change.kind = others ? "lease.freed" : "lease.ended";
    change.detail = json_pack("{s:s}", "reason", lease->reason ? lease->reason : "");
    error = broker_begin_release(broker, &change);
    if (error)
        return error;
    for (size_t i = 0; !error && i < lease->hold_count; i++)
        if (lease->holds[i].held && lease->holds[i].box == box)
            error = store_release_hold(broker->store, lease->id, lease->holds[i].ordinal);
    if (!error)
        error = outcome_of(fault_point("confirm.holds_written"));
    if (!error && !others)
        error = store_update_lease(broker->store, lease, LEASE_ENDED, lease->reason,
                                   clock_wall_seconds());
    error = broker_commit(broker, error, &change);
    if (error)
        return error;
    fault_point("confirm.committed");
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].box == box) {
            pool_give_up(broker->pool, &lease->holds[i]);
            lease->holds[i].aside = false;
        }
    if (!others)
        pool_remove_lease(broker->pool, lease);
    return OUTCOME_DONE;
}

static enum outcome confirm_end(struct broker *broker, struct pool_box *box,
                                struct pool_lease *lease, const char *actor)
{
    enum outcome error = try_confirm_end(broker, box, lease, actor);

    if (error == OUTCOME_DISK_FULL && reserve_give(&broker->storage.reserve))
        error = try_confirm_end(broker, box, lease, actor);
    return error;
}

static bool boxes_are_there(const struct pool_lease *lease)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (hold_stands(&lease->holds[i]) && !lease->holds[i].box->connected)
            return false;
    return true;
}

static bool has_lost_lease(const struct broker *broker, const struct pool_box *box)
{
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        if (lease->state == LEASE_LOST && lease_holds_on(lease, box) && boxes_are_there(lease))
            return true;
    return false;
}

// A lost box reports again: its leases are no longer lost.
static enum outcome find_box(struct broker *broker, struct pool_box *box, const char *actor)
{
    json_t *found = json_array();
    struct change change = {.kind = "box.back",
                            .actor = actor,
                            .box = box,
                            .detail = json_pack("{s:o}", "leases", found)};
    struct pool_lease *lease;
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    TAILQ_FOREACH(lease, &broker->pool->leases, all) {
        if (error || lease->state != LEASE_LOST || !lease_holds_on(lease, box) ||
            !boxes_are_there(lease))
            continue;
        json_array_append_new(found, json_string(lease->id));
        error = store_update_lease(broker->store, lease, LEASE_GRANTED, "", 0);
    }
    error = broker_commit(broker, error, &change);
    if (error)
        return error;
    box->known_lost = false;
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        if (lease->state == LEASE_LOST && lease_holds_on(lease, box) && boxes_are_there(lease))
            pool_move_lease(broker->pool, lease, LEASE_GRANTED);
    return OUTCOME_DONE;
}

// Returns true if the lease has, or had until its end, a GPU of the box.
static bool boxes_had_lease(struct broker *broker, const struct pool_box *box, const char *id)
{
    const struct pool_lease *lease = pool_find_lease(broker->pool, id);
    json_t *ended = lease ? NULL : store_ended_lease(broker->store, id);
    const json_t *hold;
    bool had = lease && lease_holds_on(lease, box);
    size_t i;

    json_array_foreach(json_object_get(ended, "gpus"), i, hold)
        had |= !strcmp(json_string_value(json_object_get(hold, "box")), box->name);
    json_decref(ended);
    return had;
}

static enum outcome note_failed(struct broker *broker, struct pool_box *box, const json_t *said,
                                const char *actor)
{
    const char *id = json_string_value(json_object_get(said, "lease"));
    struct pool_lease named = {0};
    struct change change = {.kind = "session.failed", .actor = actor, .box = box, .lease = &named};
    char reason[BOX_REASON_MAX];
    enum outcome error;

    if (!id || !broker_read_reason(said, reason) || !boxes_had_lease(broker, box, id) ||
        !box_may_write(box))
        return OUTCOME_DONE;
    snprintf(named.id, sizeof(named.id), "%s", id);
    error = broker_begin(broker, &change);
    if (error)
        return error;
    change.detail = json_pack("{s:I, s:s}", "session",
                              json_integer_value(json_object_get(said, "session")), "reason",
                              reason);
    return broker_commit(broker, OUTCOME_DONE, &change);
}

enum outcome broker_note_failed(struct broker *broker, struct pool_box *box, const json_t *list,
                                const char *actor)
{
    enum outcome error = OUTCOME_DONE;

    for (size_t i = 0; !error && i < json_array_size(list); i++)
        error = note_failed(broker, box, json_array_get(list, i), actor);
    return error;
}

// Returns true if every lease that the box runs holds something there.
static bool boxes_is_settled(struct broker *broker, const struct pool_box *box,
                             const json_t *running)
{
    for (size_t i = 0; i < json_array_size(running); i++) {
        const char *id = json_string_value(json_array_get(running, i));
        const struct pool_lease *lease = id ? pool_find_lease(broker->pool, id) : NULL;
        if (!lease || !lease_holds_on(lease, box))
            return false;
    }
    return true;
}

// Both lists are a box's, which may be of any length: no search of one for each entry of the other.
static json_t *boxes_set_of(const json_t *list)
{
    json_t *set = json_object();

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *entry = json_string_value(json_array_get(list, i));
        if (entry)
            json_object_set_new(set, entry, json_true());
    }
    return set;
}

static enum outcome boxes_take_ended(struct broker *broker, struct pool_box *box,
                                     const json_t *running, const json_t *ended, const char *actor)
{
    json_t *goes_on = boxes_set_of(json_array_size(ended) ? running : NULL);
    enum outcome error = OUTCOME_DONE;

    for (size_t i = 0; !error && i < json_array_size(ended); i++) {
        const char *id = json_string_value(json_array_get(ended, i));
        struct pool_lease *lease = id ? pool_find_lease(broker->pool, id) : NULL;
        if (lease && lease->state == LEASE_ENDING && lease_holds_on(lease, box) &&
            !json_object_get(goes_on, id))
            error = confirm_end(broker, box, lease, actor);
    }
    json_decref(goes_on);
    return error;
}

bool broker_knows_box(const struct broker *broker, const struct pool_box *box)
{
    return box->epoch == broker->epoch;
}

enum outcome broker_hear(struct broker *broker, struct pool_box *box, const char *instance,
                         const json_t *running, const json_t *ended, bool accepting,
                         const char *actor)
{
    bool settled;
    enum outcome error = OUTCOME_DONE;

    if (!broker_knows_box(broker, box))
        return OUTCOME_UNREGISTERED;
    if (!box->connected && box->known_lost && strcmp(box->instance, instance) == 0)
        box->connected = true; // it was cut off and is the same that registered
    if (!box->connected || strcmp(box->instance, instance))
        return OUTCOME_UNREGISTERED;
    box->heard = clock_boot_seconds();
    box->seen = clock_wall_seconds();
    broker->queue_dirty |= box->hung_up;
    box->hung_up = false;
    if (box->known_lost || (box->recheck && has_lost_lease(broker, box)))
        error = find_box(broker, box, actor);
    box->recheck = box->recheck && error;
    if (!error)
        error = boxes_take_ended(broker, box, running, ended, actor);
    if (accepting != box->accepting) {
        box->accepting = accepting;
        broker->queue_dirty = true;
    }
    settled = boxes_is_settled(broker, box, running);
    if (settled != box->settled) {
        box->settled = settled;
        broker->queue_dirty = true;
        log_limited(&settling, LOG_LEVEL_INFO, "box=%s %s", box->name,
                    settled ? "runs only sessions of its leases" : "runs sessions to be ended");
    }
    return error;
}

// A lease of an earlier epoch may have tickets that this database does not know of.
static json_t *describe_order(const struct broker *broker, const struct pool_lease *lease)
{
    json_t *order = json_pack("{s:s}", "lease", lease->id);

    if (lease->epoch == broker->epoch)
        json_object_set_new(order, "until", json_integer(lease->ticket_until));
    if (lease->reason)
        json_object_set_new(order, "reason", json_string(lease->reason));
    return order;
}

static bool boxes_has_ended(struct broker *broker, const char *id)
{
    json_t *ended = store_ended_lease(broker->store, id);

    json_decref(ended);
    return ended;
}

// Handles a lease that runs on the box and holds nothing there.
static void end_or_ask(struct broker *broker, const char *id, const json_t *verdicts, json_t *list,
                       json_t *ask)
{
    const json_t *verdict = json_object_get(verdicts, id);
    json_t *order;

    if (json_is_null(verdict))
        return;
    if (verdicts && !verdict && !boxes_has_ended(broker, id)) {
        json_array_append_new(ask, json_string(id));
        return;
    }
    order = json_pack("{s:s}", "lease", id); // for an unknown time
    if (json_is_string(verdict))
        json_object_set(order, "reason", (json_t *)verdict);
    json_array_append_new(list, order);
}

json_t *broker_revocations(struct broker *broker, struct pool_box *box, const json_t *running,
                           const json_t *verdicts, json_t *ask)
{
    json_t *list = json_array();
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &broker->pool->ending, ending)
        if (lease_holds_on(lease, box))
            json_array_append_new(list, describe_order(broker, lease));
    for (size_t i = 0; i < json_array_size(running); i++) {
        const char *id = json_string_value(json_array_get(running, i));
        lease = id ? pool_find_lease(broker->pool, id) : NULL;
        if (id && (!lease || !lease_holds_on(lease, box)))
            end_or_ask(broker, id, verdicts, list, ask);
    }
    return list;
}

// ---- the administrator ----

// A GPU whose mode follows its leases starts with its present mode.
enum outcome broker_set_mode(struct broker *broker, struct pool_gpu *gpu, enum gpu_mode mode,
                             bool automatic, const char *actor)
{
    struct change change = {.kind = "gpu.mode", .actor = actor, .box = gpu->box, .gpu = gpu};
    enum outcome error;

    if (automatic)
        mode = gpu->mode;
    if (gpu->mode == mode && gpu->automatic == automatic)
        return OUTCOME_DONE;
    if (gpu->holders > 0 && gpu->mode != mode)
        return OUTCOME_IN_USE;
    error = broker_begin(broker, &change);
    if (error)
        return error;
    change.detail = json_pack("{s:s}", "mode", automatic ? GPU_AUTO : gpu_mode_names[mode]);
    error = broker_commit(broker, store_set_gpu_mode(broker->store, gpu->uuid, mode, automatic),
                          &change);
    if (error)
        return error;
    gpu->mode = (uint8_t)mode;
    gpu->automatic = automatic;
    gpu->box->stale = true;
    broker->pool->generation++;
    broker->queue_dirty = true;
    return OUTCOME_DONE;
}

enum outcome broker_box_gone(struct broker *broker, struct pool_box *box, const char *actor)
{
    struct pool_lease *lease, *next;
    enum outcome error = OUTCOME_DONE;

    if (box->connected)
        return OUTCOME_CONNECTED;
    for (lease = TAILQ_FIRST(&broker->pool->leases); lease && !error; lease = next) {
        next = TAILQ_NEXT(lease, all);
        if (!lease_holds_on(lease, box))
            continue;
        error = broker_end_lease(broker, &lease, "box is gone", actor);
        if (!error && lease)
            error = confirm_end(broker, box, lease, actor);
    }
    return error;
}

enum outcome broker_remove_box(struct broker *broker, struct pool_box *box, const char *actor)
{
    struct change change = {.kind = "box.removed", .actor = actor, .box = box};
    const struct pool_lease *lease;
    enum outcome error;

    if (box->connected)
        return OUTCOME_CONNECTED;
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        for (size_t i = 0; i < lease->hold_count; i++)
            if (lease->holds[i].box == box || lease->holds[i].gpu->box == box)
                return OUTCOME_IN_USE;
    error = broker_begin(broker, &change);
    if (!error)
        error = broker_commit(broker, store_delete_box(broker->store, box->name), &change);
    if (!error)
        pool_remove_box(broker->pool, box);
    return error;
}
