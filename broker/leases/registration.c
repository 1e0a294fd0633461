// SPDX-License-Identifier: BSD-3-Clause
// Registers boxes: checks the description of a box and stores it in the database and the pool.
#include <stdlib.h>
#include <string.h>

#include "broker/leases/boxes.h"
#include "broker/pool/columns.h"
#include "broker/leases/history.h"
#include "broker/leases/leases.h"
#include "broker/pool/pool_figures.h"
#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/log.h"

struct description {
    struct pool_box box; // only the fields that a box says of itself
    size_t gpu_count;
    struct pool_gpu gpus[POOL_GPUS_PER_BOX];
    // GPUs that the box had earlier, which the broker forgets so that it has room for these.
    size_t forgotten_count;
    struct pool_gpu *forgotten[POOL_GPUS_PER_BOX];
};

static bool read_text(const json_t *object, const char *name, bool needed, char *out, size_t size)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);

    if (!value)
        return !needed;
    if (!text || strlen(text) >= size || (needed && !*text) || !pool_is_printable(text) ||
        strpbrk(text, " ;"))
        return false;
    strcpy(out, text);
    return true;
}

static bool registration_read_number(const json_t *object, const char *name, bool needed,
                                     uint64_t *out)
{
    const json_t *value = json_object_get(object, name);

    *out = (uint64_t)json_integer_value(value);
    return value ? json_is_integer(value) && json_integer_value(value) >= 0 : !needed;
}

static const char *read_gpu(const json_t *object, struct pool_gpu *gpu)
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

    // A colon is for BOX:INDEX, by which people name GPUs.
    if (!read_text(object, "uuid", true, gpu->uuid, sizeof(gpu->uuid)) || strchr(gpu->uuid, ':'))
        return "a GPU needs a \"uuid\", which has no colon";
    if (!registration_read_number(object, "index", true, &index) || index > UINT16_MAX)
        return "a GPU needs an \"index\"";
    if (!registration_read_number(object, "memory", true, &gpu->memory) ||
        !registration_read_number(object, "reserved", false, &gpu->reserved) ||
        !registration_read_number(object, "context", false, &gpu->context) ||
        (gpu->memory | gpu->reserved | gpu->context) >> 50)
        return "\"memory\", \"reserved\" and \"context\" of a GPU are numbers of bytes below 1 PiB";
    if (!registration_read_number(object, "capability", false, &capability) ||
        capability > UINT8_MAX)
        return "\"capability\" of a GPU is ten times the major number, and the minor";
    if (!model || strlen(model) > GPU_MODEL_MAX || !pool_is_printable(model) || bad_mode)
        return "a GPU needs a \"model\" in printable ASCII of at most 255 characters, and its \"mode\" is "
               "\"exclusive\", \"shared\" or \"auto\"";
    if (shared_how < 0)
        return "\"sharing\" of a GPU is \"time\", \"mps-lease\", \"mps-user\" or \"mps-all\"";
    if (!registration_read_number(object, "overcommit", false, &overcommit) ||
        overcommit > OVERCOMMIT_MAX)
        return "\"overcommit\" of a GPU is a number of percent, from 100 to 10000";
    gpu->overcommit = (uint16_t)(overcommit > 100 ? overcommit : 100);
    gpu->sharing = (uint8_t)shared_how;
    // A box of an earlier release gives parts of multiprocessors only.
    gpu->parts = parts ? json_is_true(parts) : gpu->sharing != GPU_BY_TIME;
    gpu->index = (uint32_t)index;
    gpu->capability = (uint8_t)capability;
    gpu->model = model; // the body's, until the registration is applied
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
        const char *why = read_gpu(json_array_get(gpus, i), &out->gpus[i]);
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

// A GPU that a box registers must not belong to another box that is connected or may come back at
// once, as all do after a restart of the broker, and no lease may hold it there.
static bool gpu_is_elsewhere(struct broker *broker, const struct pool_box *box, const char *uuid)
{
    const struct pool_gpu *gpu = pool_find_gpu(broker->pool, uuid);

    if (!gpu || gpu->box == box)
        return false;
    return gpu->box->connected || pool_names_gpu(broker->pool, gpu) ||
           clock_boot_seconds() - gpu->box->heard < broker->limits.away_seconds;
}

static bool still_described(const struct description *description, const struct pool_gpu *gpu)
{
    for (size_t i = 0; i < description->gpu_count; i++)
        if (!strcmp(description->gpus[i].uuid, gpu->uuid))
            return true;
    return false;
}

// Chooses GPUs that the box has no more and that no lease names, as many as are too many. Returns
// false if there are not enough of them.
static bool registration_make_room(const struct broker *broker, const struct pool_box *box,
                                   struct description *description)
{
    size_t count = description->gpu_count;

    for (uint32_t i = 0; box && i < box->gpu_count; i++)
        count += !still_described(description, box->gpus[i]);
    for (uint32_t i = 0; box && i < box->gpu_count && count > POOL_GPUS_PER_BOX; i++) {
        struct pool_gpu *gpu = box->gpus[i];
        if (still_described(description, gpu) || pool_names_gpu(broker->pool, gpu))
            continue;
        description->forgotten[description->forgotten_count++] = gpu;
        count--;
    }
    return count <= POOL_GPUS_PER_BOX;
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
    for (size_t i = 0; !error && i < description->forgotten_count; i++)
        error = store_delete_gpu(broker->store, description->forgotten[i]->uuid);
    return broker_commit(broker, error, &change);
}

static void apply_gpu(struct broker *broker, struct pool_box *box, const struct pool_gpu *said)
{
    struct pool_gpu own = *said, *gpu = pool_find_gpu(broker->pool, said->uuid);

    own.model = pool_intern_model(broker->pool, said->model);
    if (!own.model)
        abort();
    if (!gpu) {
        gpu = pool_add_gpu(broker->pool, said->uuid);
        if (!gpu)
            abort();
        gpu->mode = said->mode;
        gpu->automatic = said->automatic;
    }
    columns_copy(gpu_columns, COLUMN_SAID, &own, gpu);
    gpu->ready = said->ready;
    if (pool_place_gpu(gpu, box) < 0)
        abort(); // make_room() has made room
}

// The database already has the change. If memory for it is missing here, the broker exits and
// restarts from the database.
static struct pool_box *apply_registration(struct broker *broker, struct pool_box *box,
                                           const struct description *description)
{
    const struct pool_box *said = &description->box;

    if (!box)
        box = pool_add_box(broker->pool, said->name);
    if (!box)
        abort();
    columns_copy(box_columns, COLUMN_SAID, said, box);
    for (size_t i = 0; i < description->forgotten_count; i++)
        pool_remove_gpu(broker->pool, description->forgotten[i]);
    for (uint32_t i = 0; i < box->gpu_count; i++)
        box->gpus[i]->present = false;
    for (size_t i = 0; i < description->gpu_count; i++)
        apply_gpu(broker, box, &description->gpus[i]);
    pool_forget_models(broker->pool);
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

// A connected box cannot register from another address, because then another host has its key. One
// event is written for all further attempts.
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
    if (!*why && !registration_make_room(broker, box, description)) {
        *why = "with the GPUs that its leases still name the box has more than 64";
        error = OUTCOME_IN_USE;
    }
    if (*why)
        goto out;
    error = box && !box_may_write(box) ? OUTCOME_TOO_OFTEN : OUTCOME_DONE;
    if (error)
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
    box->settled = false; // until it has reported its leases
    log_info("box=%s registered: gpus=%zu instance=%s", name, description->gpu_count,
             box->instance);
    end_leases_without_gpu(broker, box);
out:
    free(description);
    return error;
}
