// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/reclaim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/leases/catch_up.h"
#include "broker/leases/grant.h"
#include "broker/pool/queue.h"
#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/log.h"

int64_t reclaim_number(const struct reclaim *reclaim, const char *name)
{
    return json_integer_value(json_object_get(reclaim->terms, name));
}

const char *reclaim_text(const struct reclaim *reclaim, const char *name)
{
    const char *text = json_string_value(json_object_get(reclaim->terms, name));

    return text ? text : "";
}

bool reclaim_has_ordinal(const struct pool_lease *lease, uint32_t ordinal)
{
    for (size_t i = 0; i < lease->hold_count; i++)
        if (lease->holds[i].ordinal == ordinal)
            return true;
    return false;
}

struct pool_hold reclaim_hold(const struct reclaim *reclaim, size_t i,
                              const struct request *request)
{
    const struct ticket_gpu *gpu = &reclaim->ticket.gpus[i];
    const json_t *context = json_array_get(json_object_get(reclaim->terms, "contexts"), i);
    const char *place = catch_up_place(reclaim->report, reclaim->ticket.lease, gpu->ordinal);
    bool moved = place && strcmp(place, gpu->uuid);

    return (struct pool_hold){
        .gpu = pool_find_gpu(reclaim->broker->pool, moved ? place : gpu->uuid),
        .moved = moved,
        .aside = reclaim->suspended,
        .box = reclaim->box,
        .ordinal = gpu->ordinal,
        .mode = gpu->mode == TICKET_SHARED ? GPU_SHARED : GPU_EXCLUSIVE,
        .memory = gpu->memory,
        .context = (uint64_t)json_integer_value(context),
        .tenant = request->tenant,
        .compute = request->compute,
    };
}

static enum outcome add_holds(struct reclaim *reclaim, struct pool_lease *lease)
{
    struct pool_hold *longer =
        realloc(lease->holds, (lease->hold_count + reclaim->ticket.gpu_count) * sizeof(*longer));

    if (!longer)
        return OUTCOME_NO_MEMORY;
    lease->holds = longer;
    for (size_t i = 0; i < reclaim->ticket.gpu_count; i++)
        if (!reclaim_has_ordinal(lease, reclaim->ticket.gpus[i].ordinal))
            longer[lease->hold_count++] = reclaim_hold(reclaim, i, &lease->request);
    return OUTCOME_DONE;
}

// The administrator's choice for a GPU (automatic) stays.
static enum outcome reclaim_insert_hold(struct broker *broker, const char *lease,
                                        const struct pool_hold *hold)
{
    enum outcome error = OUTCOME_DONE;

    if (hold->aside)
        return store_put_hold(broker->store, lease, hold);
    if (hold->mode != hold->gpu->mode)
        error =
            store_set_gpu_mode(broker->store, hold->gpu->uuid, hold->mode, hold->gpu->automatic);
    return error ? error : store_insert_hold(broker->store, lease, hold);
}

// Writes the lease with its holds from number FIRST on. KNOWN: the database has the lease.
static enum outcome write_adoption(struct reclaim *reclaim, struct pool_lease *lease, size_t first,
                                   bool known)
{
    struct broker *broker = reclaim->broker;
    struct change change = {
        .kind = "lease.adopted", .actor = reclaim->actor, .box = reclaim->box, .lease = lease};
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    change.detail = grant_detail(lease);
    error = known ? store_update_lease(broker->store, lease,
                                       lease->state == LEASE_QUEUED ? LEASE_GRANTED : lease->state,
                                       "", 0)
                  : store_insert_lease(broker->store, lease);
    if (!error)
        error = outcome_of(fault_point("adopt.lease_written"));
    for (size_t i = first; !error && i < lease->hold_count; i++)
        error = reclaim_insert_hold(broker, lease->id, &lease->holds[i]);
    return broker_commit(broker, error, &change);
}

// After the commit.
static void reclaim_take_holds(struct reclaim *reclaim, struct pool_lease *lease, size_t first)
{
    struct broker *broker = reclaim->broker;

    for (size_t i = first; i < lease->hold_count; i++)
        if (!lease->holds[i].aside)
            pool_take(&lease->holds[i]);
    pool_note_displaced(broker->pool, lease);
    broker->counters.adoptions++;
    broker->queue_dirty = true;
    log_info("lease=%s adopted from box=%s: owner=%u gpus=%zu", lease->id, reclaim->box->name,
             lease->owner, lease->hold_count - first);
}

// Starts the whole lifetime anew, because no renewal was possible meanwhile.
static void start_again(const struct reclaim *reclaim, struct pool_lease *lease)
{
    int64_t now = clock_wall_seconds();

    lease->granted = reclaim_number(reclaim, "granted");
    lease->suspension = reclaim->suspended ? LEASE_AWAY : LEASE_HERE;
    lease->idle = reclaim->suspended && reclaim->idle;
    lease_start_lifetime(lease, reclaim_number(reclaim, "lifetime"));
    lease->ticket_until = reclaim->ticket.expires > now ? reclaim->ticket.expires : now;
}

static enum outcome fill_lease(const struct reclaim *reclaim, const struct request *request,
                               struct pool_lease *lease)
{
    const struct ticket *ticket = &reclaim->ticket;
    const char *key = reclaim_text(reclaim, "key");

    strcpy(lease->id, ticket->lease);
    lease->key = *key ? strdup(key) : NULL;
    if (*key && !lease->key)
        return OUTCOME_NO_MEMORY;
    lease->key_owner = reclaim_number(reclaim, "key_owner");
    snprintf(lease->job, sizeof(lease->job), "%.120s", ticket->job);
    snprintf(lease->account, sizeof(lease->account), "%s", reclaim_text(reclaim, "account"));
    lease->owner = ticket->owner;
    lease->epoch = ticket->epoch;
    lease->request = *request;
    lease->created = reclaim_number(reclaim, "created");
    lease->sequence = reclaim->broker->last_sequence + 1;
    lease->state = LEASE_GRANTED;
    start_again(reclaim, lease);
    return OUTCOME_DONE;
}

enum outcome reclaim_adopt_new(struct reclaim *reclaim, const struct request *request)
{
    struct broker *broker = reclaim->broker;
    struct pool_lease *lease = lease_new();
    enum outcome error = lease ? fill_lease(reclaim, request, lease) : OUTCOME_NO_MEMORY;

    if (!error)
        error = add_holds(reclaim, lease);
    if (!error)
        error = write_adoption(reclaim, lease, 0, false);
    if (error) {
        lease_free(&lease);
        return error;
    }
    fault_point("adopt.committed");
    if (pool_add_lease(broker->pool, lease) < 0)
        abort(); // out of memory with the lease on disk: a restart reads it from there
    broker->last_sequence++;
    reclaim_take_holds(reclaim, lease, 0);
    return OUTCOME_DONE;
}

// The database knows the lease as one that waits, or with the GPUs of other boxes only.
enum outcome reclaim_adopt_known(struct reclaim *reclaim)
{
    struct pool_lease *lease = reclaim->lease, before = *lease;
    size_t first = lease->hold_count;
    bool waited = lease->state == LEASE_QUEUED;
    enum outcome error = add_holds(reclaim, lease);

    before.holds = lease->holds;
    if (!error && waited)
        start_again(reclaim, lease);
    if (!error)
        error = write_adoption(reclaim, lease, first, true);
    if (error) {
        *lease = before;
        return error;
    }
    if (waited) {
        queue_leave(reclaim->broker->pool->queue, lease);
        pool_move_lease(reclaim->broker->pool, lease, LEASE_GRANTED);
    }
    reclaim_take_holds(reclaim, lease, first);
    return OUTCOME_DONE;
}
