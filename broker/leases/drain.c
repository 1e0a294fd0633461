// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/drain.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/leases/leases.h"
#include "broker/pool/pool_figures.h"
#include "common/base/clock.h"
#include "common/base/fault.h"

bool drain_reason_is_good(const char *reason)
{
    if (strlen(reason) > DRAIN_REASON_MAX)
        return false;
    for (; *reason; reason++)
        if (iscntrl((unsigned char)*reason))
            return false;
    return true;
}

// Merges this order into the drain. An order that repeats it without a reason (to wait, or by
// force) keeps the present reason and its author.
static struct drain drain_say(const struct drain_order *order, bool was_drained,
                              const struct drain *before)
{
    bool same = was_drained && !(order->reason && *order->reason);

    if (!order->drained)
        return (struct drain){0};
    return (struct drain){.reason = pool_copy_text(same ? before->reason : order->reason),
                          .by = pool_copy_text(same ? before->by : order->actor),
                          .since = same ? before->since : clock_wall_seconds()};
}

static json_t *drain_describe(const struct drain_order *order, const struct drain *said)
{
    json_t *detail = json_object();

    if (said->reason)
        json_object_set_new(detail, "reason", json_string(said->reason));
    if (order->drained && order->force)
        json_object_set_new(detail, "force", json_true());
    return detail;
}

// Ends what holds the GPU, or (NULL) any of the box.
static enum outcome end_leases_on(struct broker *broker, const struct pool_box *box,
                                  const struct pool_gpu *gpu, const struct drain *drain,
                                  const char *actor)
{
    char reason[DRAIN_REASON_MAX + 32];
    struct pool_lease *lease, *next;
    enum outcome error = OUTCOME_DONE;

    snprintf(reason, sizeof(reason), "drained by force%s%s", drain->reason ? ": " : "",
             drain->reason ? drain->reason : "");
    for (lease = TAILQ_FIRST(&broker->pool->leases); lease && !error; lease = next) {
        next = TAILQ_NEXT(lease, all);
        if (gpu ? lease_holds_gpu(lease, gpu) : lease_holds_on(lease, box)) {
            error = broker_end_lease(broker, &lease, reason, actor);
            broker->counters.revocations++;
        }
    }
    return error;
}

enum outcome broker_drain_box(struct broker *broker, struct pool_box *box,
                              const struct drain_order *order)
{
    struct pool_box changed = *box;
    struct change change = {.kind = order->drained ? "box.drained" : "box.undrained",
                            .actor = order->actor,
                            .box = box};
    enum outcome error;

    changed.drained = order->drained;
    changed.drain = drain_say(order, box->drained, &box->drain);
    change.detail = drain_describe(order, &changed.drain);
    error = broker_begin(broker, &change);
    if (!error)
        error = broker_commit(broker, store_set_box_drained(broker->store, &changed), &change);
    if (error) {
        drain_set(&changed.drain, &(struct drain){0});
        return error;
    }
    fault_point("drain.committed");
    box->drained = order->drained;
    drain_set(&box->drain, &changed.drain);
    broker->queue_dirty = true;
    return order->drained && order->force
               ? end_leases_on(broker, box, NULL, &box->drain, order->actor)
               : OUTCOME_DONE;
}

enum outcome broker_drain_gpu(struct broker *broker, struct pool_gpu *gpu,
                              const struct drain_order *order)
{
    struct pool_gpu changed = *gpu;
    struct change change = {.kind = order->drained ? "gpu.drained" : "gpu.undrained",
                            .actor = order->actor,
                            .box = gpu->box,
                            .gpu = gpu};
    enum outcome error;

    changed.drained = order->drained;
    changed.drain = drain_say(order, gpu->drained, &gpu->drain);
    change.detail = drain_describe(order, &changed.drain);
    error = broker_begin(broker, &change);
    if (!error)
        error = broker_commit(broker, store_set_gpu_drained(broker->store, &changed), &change);
    if (error) {
        drain_set(&changed.drain, &(struct drain){0});
        return error;
    }
    gpu->drained = order->drained;
    gpu->box->stale = true;
    drain_set(&gpu->drain, &changed.drain);
    broker->queue_dirty = true;
    return order->drained && order->force
               ? end_leases_on(broker, NULL, gpu, &gpu->drain, order->actor)
               : OUTCOME_DONE;
}

// Returns true if an administrator has drained the GPU, whose word stands.
static bool is_drained_by_person(const struct pool_gpu *gpu)
{
    return gpu->drained && gpu->drain.by && strncmp(gpu->drain.by, "box ", 4) != 0;
}

// Returns true if the order changes nothing: a box repeats its report if it misses the answer.
static bool is_obeyed(const struct pool_gpu *gpu, const struct drain_order *order)
{
    bool same = !order->reason || (gpu->drain.reason && !strcmp(gpu->drain.reason, order->reason));

    return gpu->drained && same && (!order->force || !gpu->holders);
}

// Reads an entry of a report. Returns false if it names no GPU of the box, or no good reason.
static bool read_fault(const struct pool *pool, const struct pool_box *box, const json_t *entry,
                       struct pool_gpu **gpu, struct drain_order *order)
{
    const char *uuid = json_string_value(json_object_get(entry, "uuid"));
    const char *reason = json_string_value(json_object_get(entry, "reason"));

    *gpu = uuid ? pool_find_gpu(pool, uuid) : NULL;
    if (!*gpu || (*gpu)->box != box || !reason || !*reason || !drain_reason_is_good(reason) ||
        !pool_is_printable(reason))
        return false;
    order->drained = true;
    order->force = json_is_true(json_object_get(entry, "force"));
    order->reason = is_drained_by_person(*gpu) ? NULL : reason;
    return true;
}

enum outcome broker_drain_faulty(struct broker *broker, struct pool_box *box, const json_t *list,
                                 const char *actor)
{
    enum outcome error = OUTCOME_DONE;
    const json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry) {
        struct drain_order order = {.actor = actor};
        struct pool_gpu *gpu;
        if (!read_fault(broker->pool, box, entry, &gpu, &order) || is_obeyed(gpu, &order) ||
            !box_may_write(box))
            continue;
        error = broker_drain_gpu(broker, gpu, &order);
        if (error)
            break;
    }
    return error;
}
