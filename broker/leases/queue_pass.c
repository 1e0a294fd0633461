// SPDX-License-Identifier: BSD-3-Clause
// Grants freed GPUs to the first lease of each class (queue.h).
#include "broker/leases/queue_pass.h"

#include "broker/leases/away.h"
#include "broker/pool/claims.h"
#include "broker/leases/grant.h"
#include "broker/pool/plan.h"
#include "broker/pool/queue.h"

static enum outcome grant_waiting(struct broker *broker, struct pool_lease *lease,
                                  const struct plan *plan)
{
    struct pool_lease before = *lease;
    struct change change = {.kind = "lease.granted", .actor = "broker", .lease = lease};
    enum outcome error = grant_set_holds(lease, plan);

    if (error)
        return error;
    grant_mark(broker, lease, false);
    error = broker_begin(broker, &change);
    if (!error) {
        change.detail = grant_detail(lease);
        error = store_update_lease(broker->store, lease, LEASE_GRANTED, "", 0);
        if (!error)
            error = grant_insert_holds(broker, lease);
        error = broker_commit(broker, error, &change);
    }
    if (error) {
        grant_drop_holds(lease);
        *lease = before;
        return error;
    }
    queue_leave(broker->pool->queue, lease);
    grant_take(broker, lease);
    return OUTCOME_DONE;
}

// Serves the head of a class. After an error the pass ends: the next change would fail as well.
static enum outcome serve_class(struct broker *broker, struct queue_class *entry, bool *granted)
{
    struct pool_lease *lease = TAILQ_FIRST(&entry->waiting);
    struct plan plan = {0};
    enum outcome error = plan_try(broker->pool, &entry->request, lease->sequence, &plan);

    *granted = error == 0;
    if (error && entry->generation != broker->pool->generation + 1) {
        queue_set_possible(broker->pool->queue, entry,
                           plan_is_possible(broker->pool, &entry->request));
        entry->generation = broker->pool->generation + 1;
    }
    if (error) {
        entry->blocked_in = broker->pool->queue->pass;
        return error == OUTCOME_NO_MEMORY ? error : OUTCOME_DONE;
    }
    error = grant_waiting(broker, lease, &plan);
    plan_clear(&plan);
    return error;
}

// A request that did not fit before can fit now only because of a GPU that was given back since.
static bool wants_freed(const struct pool *pool, const struct queue_class *entry)
{
    for (size_t i = 0; i < pool->freed_count; i++)
        if (request_wants(&entry->request, pool->freed[i]))
            return true;
    return false;
}

// Tries the heads of all classes in the order of their sequence numbers. A head that does not fit
// is not tried again in this pass, because grants only take capacity and all earlier requests have
// been tried.
void broker_serve_queue(struct broker *broker)
{
    struct pool *pool = broker->pool;
    struct queue *queue = pool->queue;
    struct queue_class *entry;
    bool granted, all = broker->queue_dirty || pool->freed_count > POOL_FREED_MAX;

    broker_serve_returning(broker);
    if ((!all && pool->freed_count == 0) || broker->storage.broken)
        return;
    broker->queue_dirty = false;
    queue->pass++;
    entry = TAILQ_FIRST(&queue->classes);
    while (entry) {
        if (entry->blocked_in == queue->pass || (!all && !wants_freed(pool, entry))) {
            entry = TAILQ_NEXT(entry, all);
            continue;
        }
        if (serve_class(broker, entry, &granted)) {
            broker->queue_dirty = true;
            return;
        }
        // A grant may move or end the class, and takes away a claim that kept others off.
        all |= granted;
        entry = granted ? TAILQ_FIRST(&queue->classes) : TAILQ_NEXT(entry, all);
    }
    pool->freed_count = 0;
}
