// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/catch_up.h"

#include <string.h>

#include "broker/leases/away.h"
#include "broker/leases/moving.h"
#include "common/base/log.h"
#include "common/net/json_list.h"

static bool catch_up_names(const json_t *said, const char *lease)
{
    const char *name = json_string_value(json_object_get(said, "lease"));

    return name && !strcmp(name, lease);
}

const json_t *catch_up_suspension(const json_t *report, const char *lease)
{
    const json_t *said;
    size_t i;

    json_array_foreach(json_object_get(report, "suspensions"), i, said) {
        const char *state = json_string_value(json_object_get(said, "state"));
        if (catch_up_names(said, lease) && state && !strcmp(state, "suspended"))
            return said;
    }
    return NULL;
}

const char *catch_up_place(const json_t *report, const char *lease, uint32_t ordinal)
{
    const json_t *said;
    size_t i;

    json_array_foreach(json_object_get(report, "moves"), i, said) {
        const char *gpu = json_string_value(json_object_get(said, "gpu"));
        if (catch_up_names(said, lease) && gpu && *gpu &&
            json_integer_value(json_object_get(said, "ordinal")) == (json_int_t)ordinal &&
            json_is_true(json_object_get(said, "done")))
            return gpu;
    }
    return NULL;
}

bool catch_up_is_due(const struct broker *broker, const struct pool_box *box)
{
    return broker->lost && box->caught_up != broker->epoch;
}

// A lease of this epoch, or one that the box does not have, is as the database says.
static bool is_concerned(const struct broker *broker, const struct pool_lease *lease,
                         const struct pool_box *box)
{
    return lease->state == LEASE_GRANTED && lease->epoch < broker->epoch &&
           lease_holds_on(lease, box);
}

static enum outcome take_places(struct broker *broker, struct pool_lease *lease,
                                const struct pool_box *box, const json_t *report, const char *actor)
{
    enum outcome error = OUTCOME_DONE;

    for (size_t i = 0; !error && i < lease->hold_count; i++) {
        struct pool_hold *hold = &lease->holds[i];
        const char *place = catch_up_place(report, lease->id, hold->ordinal);
        struct pool_gpu *gpu = place ? pool_find_gpu(broker->pool, place) : NULL;
        if (gpu && gpu->box == box && hold->box == box && gpu != hold->gpu && !hold->target &&
            (!hold->held || lease_fits_gpu(lease, hold, gpu)))
            error = broker_take_place(broker, lease, hold, gpu, actor);
    }
    return error;
}

enum outcome catch_up_hear(struct broker *broker, struct pool_box *box, const json_t *report,
                           const json_t *running, const char *actor)
{
    enum outcome error = OUTCOME_DONE;
    struct pool_lease *lease;

    TAILQ_FOREACH(lease, &broker->pool->leases, all) {
        if (error || !is_concerned(broker, lease, box))
            continue;
        const json_t *said = catch_up_suspension(report, lease->id);
        error = take_places(broker, lease, box, report, actor);
        if (error)
            return error;
        if (said && lease->suspension == LEASE_HERE &&
            !json_is_true(json_object_get(said, "returns")) &&
            !json_is_true(json_object_get(said, "idle")))
            error = broker_suspend_lease(broker, lease, actor);
        else if (!said && lease->suspension == LEASE_AWAY && json_list_has(running, lease->id))
            error = broker_resume_lease(broker, lease, actor);
    }
    return error;
}

void catch_up_end(struct broker *broker, struct pool_box *box, const json_t *verdicts)
{
    const struct pool_lease *lease;
    const char *name;
    json_t *verdict;

    if (!catch_up_is_due(broker, box))
        return;
    json_object_foreach((json_t *)verdicts, name, verdict)
        if (json_is_null(verdict))
            return;
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        if (lease->epoch < broker->epoch && lease_holds_on(lease, box) &&
            (lease->state == LEASE_ENDING || lease->suspension == LEASE_RETURNING))
            return;
    box->caught_up = broker->epoch;
    log_debug("box=%s has caught up", box->name);
}
