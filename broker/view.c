/* The pool as JSON. */
#include "broker/view.h"

#include "broker/plan.h"
#include "broker/request.h"

static const char *box_state(const struct pool_box *box)
{
    if (!box->connected)
        return "away";
    if (box->drained)
        return box->holders ? "draining" : "drained";
    if (!box->accepting)
        return "leaving";
    for (uint32_t i = 0; i < box->gpu_count; i++)
        if (box->gpus[i]->present && !box->gpus[i]->ready)
            return "starting";
    return box->settled ? "up" : "settling";
}

json_t *view_box(const struct pool_box *box)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < box->gpu_count; i++)
        used += box->gpus[i]->holders > 0;
    return json_pack("{s:s, s:s, s:b, s:b, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "name",
                     box->name, "state", box_state(box), "connected", box->connected, "drained",
                     box->drained, "addresses", box->addresses, "locality", box->locality,
                     "transports", box->transports, "version", box->version, "gpus",
                     (json_int_t)box->gpu_count, "gpus_used", (json_int_t)used, "holds",
                     (json_int_t)box->holders, "seen", (json_int_t)box->seen);
}

static const char *gpu_state(const struct pool_gpu *gpu)
{
    if (!gpu->present)
        return "missing";
    if (!gpu->box->connected)
        return "away";
    if (gpu->drained || gpu->box->drained)
        return gpu->holders ? "draining" : "drained";
    if (!gpu->box->accepting)
        return "leaving";
    if (!gpu->ready)
        return "starting";
    if (!gpu->box->settled)
        return "settling";
    return gpu->holders ? "used" : "free";
}

json_t *view_gpu(const struct pool_gpu *gpu)
{
    uint64_t free_bytes = gpu_free_bytes(gpu);

    if (gpu->mode == GPU_EXCLUSIVE && gpu->holders > 0)
        free_bytes = 0;
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:b, s:b, s:I, s:I, s:I, s:I, s:I}", "uuid",
                     gpu->uuid, "box", gpu->box->name, "index", (json_int_t)gpu->index, "model",
                     gpu->model, "state", gpu_state(gpu), "mode", gpu_mode_names[gpu->mode],
                     "auto", gpu->automatic, "drained", gpu->drained, "memory", (json_int_t)gpu->memory, "reserved",
                     (json_int_t)gpu->reserved, "context", (json_int_t)gpu->context, "free",
                     (json_int_t)free_bytes, "leases", (json_int_t)gpu->holders);
}

static json_t *view_holds(const struct pool_lease *lease)
{
    json_t *list = json_array();

    for (size_t i = 0; i < lease->hold_count; i++) {
        const struct pool_hold *hold = &lease->holds[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:I, s:b}", "gpu", hold->gpu->uuid,
                            "box", hold->box->name, "index", (json_int_t)hold->gpu->index,
                            "ordinal", (json_int_t)hold->ordinal, "model", hold->gpu->model,
                            "mode", gpu_mode_names[hold->mode], "memory",
                            (json_int_t)hold->memory, "held", hold->held));
    }
    return list;
}

json_t *view_lease(const struct pool_lease *lease, bool full)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:s, s:I, s:I, s:I, s:o, s:o}", "id", lease->id, "state",
        lease_state_names[lease->state], "owner", (json_int_t)lease->owner, "job",
        lease->job ? lease->job : "", "created", (json_int_t)lease->created, "granted",
        (json_int_t)lease->granted, "expires", (json_int_t)lease->expires, "request",
        request_to_json(&lease->request), "gpus", view_holds(lease));

    if (full && lease->key)
        json_object_set_new(object, "key", json_string(lease->key));
    if (lease->reason)
        json_object_set_new(object, "reason", json_string(lease->reason));
    return object;
}
