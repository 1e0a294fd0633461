// SPDX-License-Identifier: BSD-3-Clause
#include "broker/api/view.h"

#include "broker/pool/columns.h"
#include "broker/pool/pool_figures.h"

const char *view_box_state(const struct pool_box *box)
{
    if (!box->connected)
        return "away";
    if (box->hung_up)
        return "silent";
    if (box->drained)
        return box->holders ? "draining" : "drained";
    if (!box->accepting)
        return "leaving";
    for (uint32_t i = 0; i < box->gpu_count; i++)
        if (box->gpus[i]->present && !box->gpus[i]->ready)
            return "starting";
    return box->settled ? "up" : "settling";
}

// Adds nothing where it is not drained.
static void show_drain(json_t *object, const struct drain *drain)
{
    if (drain)
        json_object_set_new(
            object, "drain",
            json_pack("{s:s, s:s, s:I}", "reason", drain->reason ? drain->reason : "", "by",
                      drain->by ? drain->by : "", "since", (json_int_t)drain->since));
}

json_t *view_box(const struct pool_box *box)
{
    uint32_t used = 0;
    json_t *object;

    for (uint32_t i = 0; i < box->gpu_count; i++)
        used += box->gpus[i]->holders > 0;
    object = json_pack("{s:s, s:b, s:I, s:I, s:I}", "state", view_box_state(box), "connected",
                       box->connected, "gpus", (json_int_t)box->gpu_count, "gpus_used",
                       (json_int_t)used, "holds", (json_int_t)box->holders);
    columns_show(box_columns, COLUMN_SHOWN, box, object);
    show_drain(object, box->drained ? &box->drain : NULL);
    return object;
}

const char *view_gpu_state(const struct pool_gpu *gpu)
{
    if (!gpu->present)
        return "missing";
    if (!gpu->box->connected)
        return "away";
    if (gpu->box->hung_up)
        return "silent";
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
    json_t *object;

    if (gpu->mode == GPU_EXCLUSIVE && gpu->holders > 0)
        free_bytes = 0;
    object = json_pack("{s:I, s:s, s:b, s:I, s:I}", "index", (json_int_t)gpu->index, "state",
                       view_gpu_state(gpu), "auto", gpu->automatic, "free", (json_int_t)free_bytes,
                       "leases", (json_int_t)gpu->holders);
    columns_show(gpu_columns, COLUMN_SHOWN, gpu, object);
    show_drain(object, gpu_drain(gpu));
    pool_figures_show(gpu, object);
    return object;
}

static json_t *view_hold(const struct pool_hold *hold)
{
    json_t *object =
        json_pack("{s:I, s:s}", "index", (json_int_t)hold->gpu->index, "model", hold->gpu->model);

    columns_show(hold_columns, COLUMN_SHOWN, hold, object);
    return object;
}

json_t *view_lease(const struct pool_lease *lease, bool full)
{
    json_t *object = json_object(), *holds = json_array();

    columns_show(lease_columns, COLUMN_SHOWN, lease, object);
    if (!full)
        json_object_del(object, "key");
    if (lease->refusal)
        json_object_set_new(object, "not_suspended", json_string(lease->refusal));
    if (lease->stays)
        json_object_set_new(object, "not_moved", json_string(lease->stays));
    for (size_t i = 0; i < lease->hold_count; i++)
        json_array_append_new(holds, view_hold(&lease->holds[i]));
    json_object_set_new(object, "gpus", holds);
    return object;
}
