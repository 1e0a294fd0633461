// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/leases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "broker/pool/columns.h"
#include "broker/leases/grant.h"
#include "broker/pool/plan.h"
#include "broker/pool/queue.h"
#include "broker/pool/request.h"
#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/log.h"

static void put_digits(char *out, size_t count, uint64_t value)
{
    static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

    while (count > 0) {
        out[--count] = digits[value & 31];
        value >>= 5;
    }
}

// The id has the present second and forty random bits. So no id is used twice, even if the database
// was restored from an old copy, and a box's list of revoked leases never contains a new one. In
// rising order they go to the same pages of the database.
static void leases_make_id(char *id)
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        abort();
    *id++ = 'L';
    put_digits(id, 7, (uint64_t)clock_wall_seconds());
    put_digits(id + 7, 8, random);
    id[15] = '\0';
}

// ---- acquiring ----

// Writes a new lease, with its GPUs if it is granted at once.
static enum outcome insert_lease(struct broker *broker, struct pool_lease *lease, const char *actor)
{
    struct change change = {
        .kind = lease->state == LEASE_QUEUED ? "lease.queued" : "lease.granted",
        .actor = actor,
        .lease = lease,
        .detail = grant_detail(lease),
    };
    enum outcome error = broker_begin(broker, &change);

    if (error)
        return error;
    error = store_insert_lease(broker->store, lease);
    if (!error)
        error = outcome_of(fault_point("acquire.lease_inserted"));
    if (!error)
        error = grant_insert_holds(broker, lease);
    return broker_commit(broker, error, &change);
}

static struct pool_lease *new_lease(struct broker *broker, const struct acquire *acquire)
{
    struct pool_lease *lease = lease_new();

    if (!lease)
        return NULL;
    leases_make_id(lease->id);
    lease->key = pool_copy_text(acquire->key);
    lease->key_owner = acquire->key_owner;
    lease->owner = acquire->owner;
    lease->epoch = broker->epoch;
    lease->request = acquire->request;
    lease->created = clock_wall_seconds();
    lease->sequence = broker->last_sequence + 1;
    lease_start_lifetime(lease, acquire->lifetime);
    return lease;
}

// The lease that a key gave before, if its request was the same.
static enum outcome repeat_acquire(struct broker *broker, const struct acquire *acquire,
                                   struct pool_lease *known, struct pool_lease **lease)
{
    if (known->owner != acquire->owner ||
        memcmp(&known->request, &acquire->request, sizeof(known->request)))
        return OUTCOME_KEY_REUSED;
    if (known->state == LEASE_ENDING)
        return OUTCOME_ENDED;
    *lease = known;
    return OUTCOME_DONE;
}

static bool key_has_ended(struct broker *broker, int64_t key_owner, const char *key)
{
    json_t *ended = store_ended_key(broker->store, key_owner, key);

    json_decref(ended);
    return ended != NULL;
}

static enum outcome leases_admit(struct broker *broker, struct pool_lease *lease, struct plan *plan,
                                 bool granted, const struct acquire *acquire)
{
    enum outcome error = granted ? grant_set_holds(lease, plan) : OUTCOME_DONE;

    if (error)
        return error;
    if (granted)
        grant_mark(broker, lease, acquire->with_ticket);
    fault_point("acquire.planned");
    error = insert_lease(broker, lease, acquire->actor);
    if (error)
        return error;
    fault_point("acquire.committed");
    error = outcome_of(pool_add_lease(broker->pool, lease));
    if (!error && !granted)
        error = outcome_of(queue_join(broker->pool->queue, lease));
    if (error)
        abort(); // out of memory with the grant on disk: a restart reads it from there
    broker->last_sequence++;
    if (granted)
        grant_take(broker, lease);
    else
        broker->counters.queued++;
    return OUTCOME_DONE;
}

enum outcome broker_acquire(struct broker *broker, const struct acquire *acquire,
                            struct pool_lease **out)
{
    struct pool_lease *known =
        acquire->key ? pool_find_key(broker->pool, acquire->key_owner, acquire->key) : NULL;
    struct pool_lease *lease;
    struct plan plan = {0};
    enum outcome planned, error;

    if (known)
        return repeat_acquire(broker, acquire, known, out);
    if (acquire->key && key_has_ended(broker, acquire->key_owner, acquire->key))
        return OUTCOME_ENDED;
    planned = plan_make(broker->pool, &acquire->request, broker->last_sequence + 1, &plan);
    if (planned && !(planned == OUTCOME_BUSY && acquire->wait)) {
        broker->counters.refusals++;
        return planned;
    }
    if (planned &&
        (broker->pool->queue->length >= QUEUE_MAX ||
         (acquire->by_user && !queue_has_room_for(broker->pool->queue, acquire->owner)))) {
        broker->counters.refusals++;
        return OUTCOME_QUEUE_FULL;
    }
    lease = new_lease(broker, acquire);
    error = lease ? OUTCOME_DONE : OUTCOME_NO_MEMORY;
    if (!error && !columns_ask(lease_columns, acquire->asked, lease))
        error = OUTCOME_BAD_REQUEST;
    if (!error)
        error = leases_admit(broker, lease, &plan, planned == 0, acquire);
    plan_clear(&plan);
    if (error)
        lease_free(&lease);
    else
        *out = lease;
    return error;
}

// ---- ending ----

static enum outcome write_end(struct broker *broker, struct pool_lease *lease,
                              enum lease_state state, const char *reason, const char *actor)
{
    struct change change = {
        .kind = state == LEASE_ENDED ? "lease.ended" : "lease.ending",
        .actor = actor,
        .lease = lease,
        .detail = json_pack("{s:s}", "reason", reason),
    };
    enum outcome error = broker_begin_release(broker, &change);

    if (error)
        return error;
    for (size_t i = 0; !error && state == LEASE_ENDED && i < lease->hold_count; i++)
        error = store_release_hold(broker->store, lease->id, lease->holds[i].ordinal);
    if (!error)
        error = outcome_of(fault_point("release.holds_written"));
    if (!error)
        error = store_update_lease(broker->store, lease, state, reason, clock_wall_seconds());
    return broker_commit(broker, error, &change);
}

enum outcome broker_end_lease(struct broker *broker, struct pool_lease **pointer,
                              const char *reason, const char *actor)
{
    struct pool_lease *lease = *pointer;
    enum lease_state state = LEASE_ENDING;
    enum outcome error;

    if (lease->state == LEASE_ENDING)
        return OUTCOME_DONE;
    // No box can know a lease that has no ticket. One of an earlier epoch may have tickets of the
    // lost part of the history.
    if (lease->state == LEASE_QUEUED || (lease->ticket_until == 0 && lease->epoch == broker->epoch))
        state = LEASE_ENDED;
    error = write_end(broker, lease, state, reason, actor);
    if (error == OUTCOME_DISK_FULL && reserve_give(&broker->storage.reserve))
        error = write_end(broker, lease, state, reason, actor);
    if (error)
        return error;
    fault_point("release.committed");
    broker->counters.releases++;
    log_info("lease=%s %s: reason=%s", lease->id, lease_state_names[state], reason);
    // A waiting lease had claims that others may use now.
    broker->queue_dirty |= lease->state == LEASE_QUEUED;
    if (state == LEASE_ENDED) {
        pool_remove_lease(broker->pool, lease);
        *pointer = NULL;
        return OUTCOME_DONE;
    }
    pool_move_lease(broker->pool, lease, LEASE_ENDING);
    free(lease->reason);
    lease->reason = pool_copy_text(reason);
    for (size_t i = 0; i < lease->hold_count; i++)
        pool_order(broker->pool, lease->holds[i].box);
    return OUTCOME_DONE;
}

enum outcome broker_release_unknown(struct broker *broker, int64_t key_owner, const char *key,
                                    uid_t owner, const char *actor)
{
    struct acquire nothing = {.key = key, .key_owner = key_owner, .owner = owner};
    struct pool_lease *lease;
    struct change change = {.kind = "lease.ended", .actor = actor};
    enum outcome error;

    if (key_has_ended(broker, key_owner, key))
        return OUTCOME_DONE;
    lease = new_lease(broker, &nothing);
    if (!lease)
        return OUTCOME_NO_MEMORY;
    lease->state = LEASE_ENDED;
    lease->ended = clock_wall_seconds();
    lease->reason = pool_copy_text("released before it was acquired");
    change.lease = lease;
    change.detail = json_pack("{s:s}", "reason", lease->reason);
    error = broker_begin_release(broker, &change);
    if (!error)
        error = broker_commit(broker, store_insert_lease(broker->store, lease), &change);
    if (!error)
        broker->last_sequence++;
    lease_free(&lease);
    return error;
}

enum outcome broker_renew(struct broker *broker, struct pool_lease *lease, int64_t lifetime,
                          const char *actor)
{
    struct change change = {.kind = "lease.renewed", .actor = actor, .lease = lease};
    struct pool_lease before = *lease;
    enum outcome error;

    if (lease->state == LEASE_ENDING)
        return OUTCOME_ENDED;
    lease_start_lifetime(lease, lifetime);
    if (lease->state == LEASE_QUEUED)
        // it holds nothing, and a restart gives it its time anew: not worth a write
        return OUTCOME_DONE;
    change.detail = json_pack("{s:I}", "expires", (json_int_t)lease->expires);
    error = broker_save_lease(broker, &change);
    if (error)
        *lease = before;
    return error;
}
