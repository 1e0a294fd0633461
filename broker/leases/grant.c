// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/grant.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/log.h"

enum outcome grant_set_holds(struct pool_lease *lease, const struct plan *plan)
{
    lease->holds = calloc(plan->count, sizeof(*lease->holds));
    if (!lease->holds)
        return OUTCOME_NO_MEMORY;
    lease->hold_count = plan->count;
    for (size_t i = 0; i < plan->count; i++)
        lease->holds[i] = plan_hold(&lease->request, plan, i);
    return OUTCOME_DONE;
}

void grant_drop_holds(struct pool_lease *lease)
{
    free(lease->holds);
    lease->holds = NULL;
    lease->hold_count = 0;
}

void lease_start_lifetime(struct pool_lease *lease, int64_t lifetime)
{
    lease->lifetime = lifetime;
    lease->expires = lifetime ? clock_wall_seconds() + lifetime : 0;
    lease->deadline = lifetime ? clock_boot_seconds() + (double)lifetime : 0;
}

json_t *grant_detail(const struct pool_lease *lease)
{
    json_t *gpus = json_array();

    for (size_t i = 0; i < lease->hold_count; i++)
        json_array_append_new(gpus, json_string(lease->holds[i].gpu->uuid));
    return json_pack("{s:I, s:s, s:o}", "owner", (json_int_t)lease->owner, "job", lease->job,
                     "gpus", gpus);
}

enum outcome grant_insert_holds(struct broker *broker, const struct pool_lease *lease)
{
    enum outcome error = OUTCOME_DONE;

    for (size_t i = 0; !error && i < lease->hold_count; i++) {
        const struct pool_hold *hold = &lease->holds[i];
        if (hold->mode != hold->gpu->mode)
            error = store_set_gpu_mode(broker->store, hold->gpu->uuid, hold->mode, true);
        if (!error)
            error = store_insert_hold(broker->store, lease->id, hold);
        if (!error)
            error = outcome_of(fault_point("acquire.hold_inserted"));
    }
    return error;
}

void grant_take(struct broker *broker, struct pool_lease *lease)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        pool_take(&lease->holds[i]);
    broker->counters.grants++;
    log_info("lease=%s granted: owner=%u gpus=%zu", lease->id, lease->owner, lease->hold_count);
}

void grant_mark(struct broker *broker, struct pool_lease *lease, bool with_ticket)
{
    lease->state = LEASE_GRANTED;
    lease->granted = clock_wall_seconds();
    lease_start_lifetime(lease, lease->lifetime);
    if (with_ticket && broker->keys.count > 0)
        lease->ticket_until = lease->granted + broker->limits.ticket_seconds;
}
