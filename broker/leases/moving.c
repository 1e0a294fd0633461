// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/moving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault.h"
#include "common/base/log.h"

// ---- whether it can be ----

static const char *object_to_lease(const struct pool_lease *lease, const struct pool_hold *hold)
{
    switch (lease->state) {
    case LEASE_QUEUED: return "it still waits for GPUs";
    case LEASE_LOST: return "its box is away";
    case LEASE_ENDING:
    case LEASE_ENDED: return "it ends";
    case LEASE_GRANTED: break;
    }
    if (hold->target)
        return "it is on its way to another GPU already";
    if (lease->suspension == LEASE_RETURNING)
        return "it is to return to its GPU, which it waits for";
    return lease->suspension == LEASE_AWAY && hold->held ? "it is just being suspended" : NULL;
}

static const char *object_to_kind(const struct pool_gpu *from, const struct pool_gpu *to,
                                  char *text, size_t room)
{
    if (gpu_is_instance(from) || gpu_is_instance(to))
        return "an instance of a divided GPU is not moved from or to: the driver does that with "
               "whole GPUs only";
    if (from->sharing != GPU_BY_TIME || to->sharing != GPU_BY_TIME)
        return "one of the two GPUs is shared by MPS, whose clients the driver does not move";
    if (from->overcommit > 100 || to->overcommit > 100)
        return "one of the two GPUs promises more memory than it has, by turns (overcommit)";
    if (from->model != to->model || from->capability != to->capability) {
        snprintf(text, room, "it is on a GPU of another kind (%.90s) than that one (%.90s)",
                 from->model, to->model);
        return text;
    }
    if (to->memory < from->memory) {
        snprintf(text, room, "the GPU is too small: it has %llu MiB, and the present one %llu",
                 (unsigned long long)to->memory >> 20, (unsigned long long)from->memory >> 20);
        return text;
    }
    return NULL;
}

static const char *object_to_use(const struct pool_lease *lease, const struct pool_hold *hold,
                                 const struct pool_gpu *to, char *text, size_t room)
{
    if (!to->present || !to->box->connected || to->box->hung_up)
        return "that GPU is away";
    if (to->drained)
        return "that GPU is drained";
    if (!to->ready)
        return "its box has not measured yet what a context takes of that GPU";
    if (!hold->held || lease_fits_gpu(lease, hold, to))
        return NULL;
    if (hold->mode == GPU_EXCLUSIVE || to->mode == GPU_EXCLUSIVE) {
        if (to->holders)
            return "another lease holds that GPU, beside which it cannot be";
        snprintf(text, room,
                 "that GPU is %s, and the lease %s: an administrator can change the GPU with "
                 "\"rgpuctl mode\"",
                 gpu_mode_names[to->mode], gpu_mode_names[hold->mode]);
        return text;
    }
    snprintf(text, room, "that GPU has %llu MiB free, and the share takes %llu",
             (unsigned long long)gpu_free_bytes(to) >> 20,
             (unsigned long long)(hold->memory + hold->context) >> 20);
    return text;
}

const char *move_objection(const struct pool_lease *lease, const struct pool_hold *hold,
                           const struct pool_gpu *to, char *text, size_t room)
{
    const char *why = object_to_lease(lease, hold);

    if (!why && to == hold->gpu)
        why = "it is on that GPU already";
    if (!why && to->box != hold->box) {
        snprintf(
            text, room,
            "it is on box %.60s and not on %.60s, and leases are not moved from box to box: their "
            "memory would have to be sent, and their connections with it",
            hold->box->name, to->box->name);
        why = text;
    }
    if (!why && lease_holds_gpu(lease, to))
        why = "it has that GPU already";
    why = why ? why : object_to_kind(hold->gpu, to, text, room);
    return why ? why : object_to_use(lease, hold, to, text, room);
}

// ---- orders ----

static void moving_tell_box(struct broker *broker, struct pool_box *box)
{
    box->suspensions++;
    pool_order(broker->pool, box);
}

static json_t *moving_describe(const struct pool_hold *hold, const struct pool_gpu *to)
{
    return json_pack("{s:I, s:s, s:s}", "ordinal", (json_int_t)hold->ordinal, "from",
                     hold->gpu->uuid, "to", to->uuid);
}

// Writes one change, with an event of type KIND: the lease's hold becomes CHANGED.
static enum outcome write_hold(struct broker *broker, const struct pool_lease *lease,
                               const struct pool_hold *changed, bool is_there, const char *kind,
                               json_t *detail, const char *actor)
{
    struct change change = {.kind = kind,
                            .actor = actor,
                            .box = changed->box,
                            .gpu = changed->gpu,
                            .lease = lease,
                            .detail = detail};
    const struct pool_gpu *kept = changed->target;
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    if (kept && kept->mode != changed->mode)
        error = store_set_gpu_mode(broker->store, kept->uuid, changed->mode, true);
    if (!error)
        error = is_there ? store_put_hold(broker->store, lease->id, changed)
                         : store_set_target(broker->store, lease->id, changed);
    return broker_commit(broker, error, &change);
}

// A suspended lease holds nothing, so it arrives at once.
static enum outcome move_aside(struct broker *broker, struct pool_lease *lease,
                               struct pool_hold *hold, struct pool_gpu *to, const char *actor)
{
    struct pool_hold changed = *hold;

    changed.gpu = to;
    changed.moved = true;
    enum outcome error =
        write_hold(broker, lease, &changed, true, "lease.moved", moving_describe(hold, to), actor);
    if (error)
        return error;
    pool_note_freed(broker->pool, hold->gpu); // which a returning lease awaited
    *hold = changed;
    moving_tell_box(broker, hold->box);
    return OUTCOME_DONE;
}

static enum outcome begin_move(struct broker *broker, struct pool_lease *lease,
                               struct pool_hold *hold, struct pool_gpu *to, const char *actor)
{
    struct pool_hold changed = *hold;

    changed.target = to;
    enum outcome error = write_hold(broker, lease, &changed, false, "lease.moving",
                                    moving_describe(hold, to), actor);
    if (error)
        return error;
    fault_point("move.ordered");
    pool_reserve(hold, to);
    pool_note_displaced(broker->pool, lease);
    log_info("lease=%s is to go from gpu=%s to gpu=%s", lease->id, hold->gpu->uuid, to->uuid);
    return OUTCOME_DONE;
}

enum outcome broker_move_lease(struct broker *broker, struct pool_lease *lease,
                               struct pool_hold *hold, struct pool_gpu *to, const char *actor)
{
    char text[256];

    if (move_objection(lease, hold, to, text, sizeof(text)))
        return OUTCOME_IMMOVABLE;
    free(lease->stays);
    lease->stays = NULL;
    if (!hold->held)
        return move_aside(broker, lease, hold, to, actor);
    enum outcome error = begin_move(broker, lease, hold, to, actor);
    if (!error)
        moving_tell_box(broker, hold->box);
    return error;
}

// ---- off a GPU that is drained ----

static struct pool_gpu *find_gpu_for(const struct pool_lease *lease, const struct pool_hold *hold,
                                     char *why, size_t room)
{
    char text[256], kind[256];

    snprintf(why, room, "%s",
             hold->box->drained
                 ? "its box is drained as a whole, and leases are not moved from box "
                   "to box"
                 : "no other GPU of its kind is in service there");
    for (uint32_t i = 0; !hold->box->drained && i < hold->box->gpu_count; i++) {
        struct pool_gpu *gpu = hold->box->gpus[i];
        const char *objection = move_objection(lease, hold, gpu, text, sizeof(text));
        if (!objection)
            return gpu;
        if (gpu != hold->gpu && !gpu->drained &&
            !object_to_kind(hold->gpu, gpu, kind, sizeof(kind)))
            snprintf(why, room, "%s", objection);
    }
    return NULL;
}

static enum outcome move_off(struct broker *broker, struct pool_lease *lease,
                             struct pool_hold *hold, const char *actor, json_t *moves)
{
    char why[256];
    struct pool_gpu *to = find_gpu_for(lease, hold, why, sizeof(why));
    json_t *row = json_pack("{s:s, s:s}", "lease", lease->id, "gpu", hold->gpu->uuid);

    json_object_set_new(row, to ? "to" : "reason", json_string(to ? to->uuid : why));
    json_array_append_new(moves, row);
    return to ? broker_move_lease(broker, lease, hold, to, actor) : OUTCOME_DONE;
}

enum outcome broker_move_off(struct broker *broker, struct pool_box *box, struct pool_gpu *gpu,
                             const char *actor, json_t **moves)
{
    enum outcome error = OUTCOME_DONE;
    struct pool_lease *lease;

    *moves = json_array();
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        for (size_t i = 0; i < lease->hold_count && !error; i++) {
            struct pool_hold *hold = &lease->holds[i];
            if (hold_stands(hold) && !hold->target && hold->box == box &&
                (!gpu || hold->gpu == gpu))
                error = move_off(broker, lease, hold, actor, *moves);
        }
    return error;
}

// ---- the box ----

json_t *broker_moves(const struct broker *broker, const struct pool_box *box)
{
    json_t *list = json_array();
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &broker->pool->displaced, displaced)
        for (size_t i = 0; i < lease->hold_count; i++) {
            const struct pool_hold *hold = &lease->holds[i];
            const struct pool_gpu *gpu = hold->target ? hold->target : hold->gpu;
            if (hold->box == box && (hold->target || hold->moved) && hold_stands(hold))
                json_array_append_new(list,
                                      json_pack("{s:s, s:I, s:s}", "lease", lease->id, "ordinal",
                                                (json_int_t)hold->ordinal, "gpu", gpu->uuid));
        }
    return list;
}

static enum outcome arrive(struct broker *broker, struct pool_lease *lease, struct pool_hold *hold,
                           const char *actor)
{
    struct pool_hold changed = *hold;

    changed.gpu = hold->target;
    changed.target = NULL;
    changed.moved = true;
    enum outcome error = write_hold(broker, lease, &changed, true, "lease.moved",
                                    moving_describe(hold, hold->target), actor);
    if (error)
        return error;
    fault_point("move.arrived");
    log_info("lease=%s has gone from gpu=%s to gpu=%s", lease->id, hold->gpu->uuid,
             hold->target->uuid);
    pool_note_freed(broker->pool, hold->gpu);
    pool_settle(hold);
    return OUTCOME_DONE;
}

enum outcome broker_take_place(struct broker *broker, struct pool_lease *lease,
                               struct pool_hold *hold, struct pool_gpu *to, const char *actor)
{
    if (!hold->held)
        return move_aside(broker, lease, hold, to, actor);
    enum outcome error = begin_move(broker, lease, hold, to, actor);
    return error ? error : arrive(broker, lease, hold, actor);
}

static enum outcome moving_stay(struct broker *broker, struct pool_lease *lease,
                                struct pool_hold *hold, const char *reason, const char *actor)
{
    struct pool_hold changed = *hold;
    json_t *detail = moving_describe(hold, hold->target);

    changed.target = NULL;
    json_object_set_new(detail, "reason", json_string(reason));
    enum outcome error =
        write_hold(broker, lease, &changed, false, "lease.not-moved", detail, actor);
    if (error)
        return error;
    log_info("lease=%s stays on gpu=%s reason=\"%s\"", lease->id, hold->gpu->uuid, reason);
    free(lease->stays);
    lease->stays = pool_copy_text(reason);
    pool_note_freed(broker->pool, hold->target);
    pool_unreserve(hold);
    moving_tell_box(broker, hold->box);
    return OUTCOME_DONE;
}

static bool moving_names(const json_t *said, const char *member, const struct pool_gpu *gpu)
{
    const char *uuid = json_string_value(json_object_get(said, member));

    return uuid && !strcmp(uuid, gpu->uuid);
}

static enum outcome moving_hear(struct broker *broker, struct pool_box *box, const json_t *said,
                                const char *actor)
{
    const char *id = json_string_value(json_object_get(said, "lease"));
    char reason[BOX_REASON_MAX];
    json_int_t ordinal = json_integer_value(json_object_get(said, "ordinal"));
    struct pool_lease *lease = id ? pool_find_lease(broker->pool, id) : NULL;

    for (size_t i = 0; lease && i < lease->hold_count; i++) {
        struct pool_hold *hold = &lease->holds[i];
        if (hold->ordinal != ordinal || hold->box != box || !hold->target)
            continue;
        if (moving_names(said, "gpu", hold->target) && json_is_true(json_object_get(said, "done")))
            return arrive(broker, lease, hold, actor);
        if (moving_names(said, "refused", hold->target) && broker_read_reason(said, reason))
            return moving_stay(broker, lease, hold, reason, actor);
    }
    return OUTCOME_DONE;
}

enum outcome broker_hear_moves(struct broker *broker, struct pool_box *box, const json_t *list,
                               const char *actor)
{
    enum outcome error = OUTCOME_DONE;
    const json_t *said;
    size_t i;

    json_array_foreach(list, i, said)
        if (!error)
            error = moving_hear(broker, box, said, actor);
    return error;
}
