// SPDX-License-Identifier: BSD-3-Clause
// Transactions, each with its event.
#include "broker/leases/core.h"

#include <stdio.h>

#include "broker/pool/holder.h"
#include "common/base/clock.h"
#include "common/base/fault.h"

static enum outcome core_begin(struct broker *broker, const struct change *change, bool has_room)
{
    enum outcome error = OUTCOME_DISK_FULL;

    holder_check(broker->holder);
    if (broker->storage.broken)
        error = OUTCOME_DATABASE_DAMAGED;
    else if (broker->replication && !replication_has_majority(broker->replication))
        error = OUTCOME_NO_MAJORITY;
    else if (has_room)
        error = store_begin(broker->store);
    if (!error)
        return OUTCOME_DONE;
    if (has_room)
        storage_note(&broker->storage, error);
    json_decref(change->detail);
    return error;
}

enum outcome broker_begin(struct broker *broker, const struct change *change)
{
    return core_begin(broker, change, storage_has_room(&broker->storage, broker->store));
}

enum outcome broker_begin_release(struct broker *broker, const struct change *change)
{
    return core_begin(broker, change, true);
}

enum outcome broker_commit(struct broker *broker, enum outcome error, const struct change *change)
{
    struct store_event event = {
        .kind = change->kind,
        .actor = change->actor,
        .box = change->box ? change->box->name : NULL,
        .gpu = change->gpu ? change->gpu->uuid : NULL,
        .lease = change->lease ? change->lease->id : NULL,
        .detail = change->detail,
    };
    double start = clock_boot_seconds();

    if (!error)
        error = outcome_of(fault_point("core.before_event"));
    if (!error)
        error = store_add_event(broker->store, clock_wall_seconds(), &event);
    if (error)
        store_rollback(broker->store);
    else
        error = store_commit(broker->store);
    histogram_add(&broker->commits, clock_boot_seconds() - start);
    json_decref(change->detail);
    storage_note(&broker->storage, error);
    if (!error)
        broker->last_event++;
    return error;
}

enum outcome broker_save_lease(struct broker *broker, const struct change *change)
{
    const struct pool_lease *lease = change->lease;
    enum outcome error = broker_begin(broker, change);

    if (error)
        return error;
    error = store_update_lease(broker->store, lease, lease->state, lease->reason, 0);
    return broker_commit(broker, error, change);
}

enum outcome broker_problem(const struct broker *broker)
{
    if (broker->replication && !replication_has_majority(broker->replication))
        return OUTCOME_NO_MAJORITY;
    return storage_state(&broker->storage);
}

bool broker_read_reason(const json_t *said, char reason[BOX_REASON_MAX])
{
    const char *text = json_string_value(json_object_get(said, "reason"));

    snprintf(reason, BOX_REASON_MAX, "%s", text ? text : "");
    for (char *at = reason; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return *reason;
}
