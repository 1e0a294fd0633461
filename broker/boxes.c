// SPDX-License-Identifier: BSD-3-Clause
// The life of boxes: registration, what they report, drain, absence.
#include "broker/boxes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/columns.h"
#include "broker/history.h"
#include "broker/leases.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"

// ---- registration ----

struct description {
    struct pool_box box; // only the fields that a box says of itself
    size_t gpu_count;
    struct pool_gpu gpus[POOL_GPUS_PER_BOX];
};

static bool read_text(const json_t *object, const char *name, bool needed, char *out, size_t size)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);

    if (!value)
        return !needed;
    if (!text || strlen(text) >= size || (needed && !*text) || strpbrk(text, "\n\r\t ;"))
        return false;
    strcpy(out, text);
    return true;
}

static bool read_number(const json_t *object, const char *name, bool needed, uint64_t *out)
{
    const json_t *value = json_object_get(object, name);

    *out = (uint64_t)json_integer_value(value);
    return value ? json_is_integer(value) && json_integer_value(value) >= 0 : !needed;
}

static const char *read_gpu(struct broker *broker, const json_t *object, struct pool_gpu *gpu)
{
    const char *model = json_string_value(json_object_get(object, "model"));
    const json_t *mode = json_object_get(object, "mode");
    const json_t *ready = json_object_get(object, "ready");
    const json_t *parts = json_object_get(object, "parts");
    enum gpu_mode first = GPU_EXCLUSIVE;
    bool automatic = false;
    int bad_mode = mode ? gpu_parse_mode(json_string_value(mode), &first, &automatic) : 0;
    uint64_t index, capability, overcommit;
    const char *sharing = json_string_value(json_object_get(object, "sharing"));
    int shared_how = sharing ? pool_parse_name(gpu_sharing_names, sharing) : GPU_BY_TIME;

    if (!read_text(object, "uuid", true, gpu->uuid, sizeof(gpu->uuid)))
        return "a GPU needs a \"uuid\"";
    if (!read_number(object, "index", true, &index) || index > UINT16_MAX)
        return "a GPU needs an \"index\"";
    if (!read_number(object, "memory", true, &gpu->memory) ||
        !read_number(object, "reserved", false, &gpu->reserved) ||
        !read_number(object, "context", false, &gpu->context))
        return "\"memory\", \"reserved\" and \"context\" of a GPU are numbers of bytes";
    if (!read_number(object, "capability", false, &capability) || capability > UINT8_MAX)
        return "\"capability\" of a GPU is ten times the major number, and the minor";
    if (!model || bad_mode)
        return "a GPU needs a \"model\", and its \"mode\" is \"exclusive\", \"shared\" or \"auto\"";
    if (shared_how < 0)
        return "\"sharing\" of a GPU is \"time\", \"mps-lease\", \"mps-user\" or \"mps-all\"";
    if (!read_number(object, "overcommit", false, &overcommit) || overcommit > OVERCOMMIT_MAX)
        return "\"overcommit\" of a GPU is a number of percent, from 100 to 10000";
    gpu->overcommit = (uint16_t)(overcommit > 100 ? overcommit : 100);
    gpu->sharing = (uint8_t)shared_how;
    // A box of an earlier release gives parts of multiprocessors only.
    gpu->parts = parts ? json_is_true(parts) : gpu->sharing != GPU_BY_TIME;
    gpu->index = (uint32_t)index;
    gpu->capability = (uint8_t)capability;
    gpu->model = pool_intern_model(broker->pool, model);
    gpu->mode = (uint8_t)first;
    gpu->automatic = automatic;
    gpu->present = true;
    gpu->ready = !ready || json_is_true(ready);
    return NULL;
}

// While a box measures a GPU anew, the figures of the last time stay in force.
static void keep_what_was_measured(const struct broker *broker, struct pool_gpu *said)
{
    const struct pool_gpu *known = pool_find_gpu(broker->pool, said->uuid);

    if (said->ready || !known)
        return;
    said->context = known->context;
    said->reserved = known->reserved;
}

static const char *read_description(struct broker *broker, const json_t *body,
                                    struct description *out)
{
    const json_t *gpus = json_object_get(body, "gpus");
    struct pool_box *box = &out->box;

    if (!read_text(body, "instance", true, box->instance, sizeof(box->instance)))
        return "\"instance\" must name this start of the box daemon";
    if (!read_text(body, "addresses", true, box->addresses, sizeof(box->addresses)))
        return "\"addresses\" must be host:port[,host:port...]";
    if (!read_text(body, "locality", false, box->locality, sizeof(box->locality)) ||
        !read_text(body, "transports", false, box->transports, sizeof(box->transports)) ||
        !read_text(body, "version", false, box->version, sizeof(box->version)))
        return "\"locality\", \"transports\" and \"version\" are words";
    if (!json_is_array(gpus) || json_array_size(gpus) > POOL_GPUS_PER_BOX)
        return "\"gpus\" must be a list of at most 64";
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const char *why = read_gpu(broker, json_array_get(gpus, i), &out->gpus[i]);
        if (why)
            return why;
        keep_what_was_measured(broker, &out->gpus[i]);
        out->gpus[i].box = box;
        for (size_t j = 0; j < i; j++)
            if (!strcmp(out->gpus[j].uuid, out->gpus[i].uuid))
                return "two GPUs have the same UUID";
    }
    out->gpu_count = json_array_size(gpus);
    return NULL;
}

// A GPU that a box claims must not belong to another one that is there, or be held elsewhere.
static bool gpu_is_elsewhere(struct broker *broker, const struct pool_box *box, const char *uuid)
{
    const struct pool_gpu *gpu = pool_find_gpu(broker->pool, uuid);

    return gpu && gpu->box != box && (gpu->box->connected || gpu->holders > 0);
}

static bool still_described(const struct description *description, const struct pool_gpu *gpu)
{
    for (size_t i = 0; i < description->gpu_count; i++)
        if (!strcmp(description->gpus[i].uuid, gpu->uuid))
            return true;
    return false;
}

static json_t *registration_detail(const struct description *description)
{
    json_t *gpus = json_array();

    for (size_t i = 0; i < description->gpu_count; i++)
        json_array_append_new(gpus, json_string(description->gpus[i].uuid));
    return json_pack("{s:s, s:o}", "addresses", description->box.addresses, "gpus", gpus);
}

static enum outcome write_registration(struct broker *broker, const struct pool_box *known,
                                       const struct description *description, const char *actor)
{
    const struct pool_box *box = &description->box;
    struct change change = {.kind = "box.registered",
                            .actor = actor,
                            .box = box,
                            .detail = registration_detail(description)};
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    error = store_put_box(broker->store, box);
    if (!error)
        error = outcome_of(fault_point("register.box_written"));
    for (size_t i = 0; !error && i < description->gpu_count; i++)
        error = store_put_gpu(broker->store, &description->gpus[i]);
    for (uint32_t i = 0; !error && known && i < known->gpu_count; i++)
        if (!still_described(description, known->gpus[i]))
            error = store_set_gpu_present(broker->store, known->gpus[i]->uuid, false);
    return broker_commit(broker, error, &change);
}

static void apply_gpu(struct broker *broker, struct pool_box *box, const struct pool_gpu *said)
{
    struct pool_gpu *gpu = pool_find_gpu(broker->pool, said->uuid);

    if (!gpu) {
        gpu = pool_add_gpu(broker->pool, said->uuid);
        if (!gpu)
            abort();
        gpu->mode = said->mode;
        gpu->automatic = said->automatic;
    }
    columns_copy(gpu_columns, COLUMN_SAID, said, gpu);
    gpu->ready = said->ready;
    if (pool_place_gpu(gpu, box) < 0)
        log_error("box=%s has more GPUs than the broker keeps: gpu=%s", box->name, gpu->uuid);
}

// The database has the change already. Where there is no memory for it here the broker ends, and starts anew from
// the database.
static struct pool_box *apply_registration(struct broker *broker, struct pool_box *box,
                                           const struct description *description)
{
    const struct pool_box *said = &description->box;

    if (!box)
        box = pool_add_box(broker->pool, said->name);
    if (!box)
        abort();
    columns_copy(box_columns, COLUMN_SAID, said, box);
    for (uint32_t i = 0; i < box->gpu_count; i++)
        box->gpus[i]->present = false;
    for (size_t i = 0; i < description->gpu_count; i++)
        apply_gpu(broker, box, &description->gpus[i]);
    box->stale = true;
    broker->pool->generation++;
    return box;
}

// A lease cannot go on without a GPU that is no longer there.
static void end_leases_without_gpu(struct broker *broker, struct pool_box *box)
{
    struct pool_lease *lease, *next;

    for (lease = TAILQ_FIRST(&broker->pool->leases); lease; lease = next) {
        bool missing = false;

        next = TAILQ_NEXT(lease, all);
        for (size_t i = 0; i < lease->hold_count; i++)
            missing |= lease->holds[i].held && lease->holds[i].box == box &&
                       !lease->holds[i].gpu->present;
        if (missing && broker_end_lease(broker, &lease, "gpu is gone", "broker"))
            return;
    }
}

// A box that is connected cannot register from another address: somebody else has its key. One event is
// written for all further attempts.
static enum outcome refuse_impostor(struct broker *broker, struct pool_box *box,
                                    const struct description *description, const char *actor)
{
    struct change change = {.kind = "box.refused", .actor = actor, .box = box};
    enum outcome error;

    if (!box || !box->connected || box->hung_up ||
        !strcmp(box->addresses, description->box.addresses))
        return OUTCOME_DONE;
    if (box->impostor)
        return OUTCOME_TAKEN;
    log_warn("box=%s is connected with addresses=%s and would register with addresses=%s: refused",
             box->name, box->addresses, description->box.addresses);
    error = broker_begin(broker, &change);
    if (error)
        return error;
    change.detail =
        json_pack("{s:s, s:s}", "addresses", box->addresses, "refused", description->box.addresses);
    error = broker_commit(broker, OUTCOME_DONE, &change);
    box->impostor = !error;
    return error ? error : OUTCOME_TAKEN;
}

enum outcome broker_register(struct broker *broker, const char *name, const json_t *body,
                             const char *actor, const char **why)
{
    struct pool_box *box = pool_find_box(broker->pool, name);
    struct description *description = calloc(1, sizeof(*description));
    enum outcome error = OUTCOME_BAD_REQUEST;

    if (!description)
        return OUTCOME_NO_MEMORY;
    *why = strlen(name) < POOL_NAME_MAX && *name ? read_description(broker, body, description)
                                                 : "the box needs a name";
    for (size_t i = 0; !*why && i < description->gpu_count; i++)
        if (gpu_is_elsewhere(broker, box, description->gpus[i].uuid)) {
            *why = "a GPU is held or registered at another box";
            error = OUTCOME_TAKEN;
        }
    if (*why)
        goto out;
    strcpy(description->box.name, name);
    error = refuse_impostor(broker, box, description, actor);
    if (error == OUTCOME_TAKEN)
        *why = "the box is connected, with other addresses";
    if (error)
        goto out;
    description->box.registered_here = box && box->registered_here;
    error = history_check_point(broker, &description->box, json_object_get(body, "seen"), actor);
    if (error == OUTCOME_BAD_REQUEST)
        *why = "\"seen\" must be an epoch, a run and an event; compare the clocks";
    if (error)
        goto out;
    description->box.drained = box && box->drained;
    description->box.seen = description->box.registered = clock_wall_seconds();
    error = write_registration(broker, box, description, actor);
    if (error)
        goto out;
    fault_point("register.committed");
    box = apply_registration(broker, box, description);
    box->heard = clock_boot_seconds();
    box->connected = true;
    box->hung_up = box->impostor = false;
    box->epoch = broker->epoch;
    box->registered_here = true;
    box->recheck = true;
    box->accepting = true;
    box->settled = false; // until it has said what it runs
    log_info("box=%s registered: gpus=%zu instance=%s", name, description->gpu_count,
             box->instance);
    end_leases_without_gpu(broker, box);
    broker->queue_dirty = true;
out:
    free(description);
    return error;
}

// ---- reports ----

// The box has refused the lease for good and ended its sessions: what it held there is free.
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
            pool_note_freed(broker->pool, lease->holds[i].gpu);
            pool_give_back(&lease->holds[i]);
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

// A box is heard again: its leases are no longer lost.
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

// Whether every lease that the box runs holds something there.
static bool is_settled(struct broker *broker, const struct pool_box *box, const json_t *running)
{
    for (size_t i = 0; i < json_array_size(running); i++) {
        const char *id = json_string_value(json_array_get(running, i));
        const struct pool_lease *lease = id ? pool_find_lease(broker->pool, id) : NULL;
        if (!lease || !lease_holds_on(lease, box))
            return false;
    }
    return true;
}

static bool lists(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *entry = json_string_value(json_array_get(list, i));
        if (entry && !strcmp(entry, text))
            return true;
    }
    return false;
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
    for (size_t i = 0; !error && i < json_array_size(ended); i++) {
        const char *id = json_string_value(json_array_get(ended, i));
        struct pool_lease *lease = id ? pool_find_lease(broker->pool, id) : NULL;
        if (lease && lease->state == LEASE_ENDING && lease_holds_on(lease, box) &&
            !lists(running, id))
            error = confirm_end(broker, box, lease, actor);
    }
    if (accepting != box->accepting) {
        box->accepting = accepting;
        broker->queue_dirty = true;
    }
    settled = is_settled(broker, box, running);
    if (settled != box->settled) {
        box->settled = settled;
        broker->queue_dirty = true;
        log_info("box=%s %s", box->name,
                 settled ? "runs only sessions of its leases" : "runs sessions to be ended");
    }
    return error;
}

// Of a lease of an earlier epoch there may be tickets that this database does not know of.
static json_t *describe_order(const struct broker *broker, const struct pool_lease *lease)
{
    json_t *order = json_pack("{s:s}", "lease", lease->id);

    if (lease->epoch == broker->epoch)
        json_object_set_new(order, "until", json_integer(lease->ticket_until));
    return order;
}

json_t *broker_revocations(struct broker *broker, struct pool_box *box, const json_t *running)
{
    json_t *list = json_array();
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &broker->pool->ending, ending)
        if (lease_holds_on(lease, box))
            json_array_append_new(list, describe_order(broker, lease));
    for (size_t i = 0; i < json_array_size(running); i++) {
        const char *id = json_string_value(json_array_get(running, i));
        lease = id ? pool_find_lease(broker->pool, id) : NULL;
        if (id && (!lease || !lease_holds_on(lease, box))) // nobody knows for how long
            json_array_append_new(list, json_pack("{s:s}", "lease", id));
    }
    return list;
}

// ---- the administrator ----

// A GPU whose mode is to follow its leases begins with the mode that it has.
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
