// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/start.h"

#include <string.h>

#include "broker/leases/history.h"
#include "broker/leases/scheduler_names.h"
#include "broker/pool/queue.h"
#include "common/base/clock.h"

enum outcome broker_open(const char *path, bool full_sync, struct broker *broker)
{
    struct pool_lease *lease;
    enum outcome error;

    broker->pool = pool_new();
    if (!broker->pool)
        return OUTCOME_NO_MEMORY;
    storage_init(&broker->storage, path);
    error = store_open(path, full_sync, broker->replication, &broker->store);
    if (!error)
        error = store_load(broker->store, broker->pool);
    if (error) {
        broker_close(broker);
        return error;
    }
    // Only leases that have not ended have a place in the order of the queue.
    lease = TAILQ_LAST(&broker->pool->leases, lease_list);
    broker->last_sequence = lease ? lease->sequence : 0;
    broker->last_event = store_last_event(broker->store);
    scheduler_names_load(broker);
    error = history_start(broker);
    if (error) {
        broker_close(broker);
        return error;
    }
    broker->wall_minus_steady = clock_wall_seconds() - (int64_t)clock_boot_seconds();
    TAILQ_FOREACH(lease, &broker->pool->leases, all) {
        if (lease->expires && lease->state == LEASE_QUEUED) // renewals of those are not written
            lease->expires = clock_wall_seconds() + lease->lifetime;
        if (lease->expires)
            lease->deadline = clock_boot_seconds() +
                              (double)(lease->expires - clock_wall_seconds());
        if (lease->state == LEASE_QUEUED && queue_join(broker->pool->queue, lease) < 0)
            return OUTCOME_NO_MEMORY;
    }
    // Boxes get their whole grace from now on: it was the broker that was away.
    for (size_t i = 0; i < broker->pool->box_count; i++)
        broker->pool->boxes[i]->heard = clock_boot_seconds();
    broker->last_tick =
        clock_boot_seconds(); // it may be stopped before it looks for the first time
    storage_reserve(&broker->storage);
    return OUTCOME_DONE;
}

void broker_close(struct broker *broker)
{
    json_decref(broker->names);
    broker->names = NULL;
    pool_free(&broker->pool);
    store_close(&broker->store);
    explicit_bzero(&broker->keys, sizeof(broker->keys));
}
