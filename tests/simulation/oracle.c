// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/oracle.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulation/broker_process.h"
#include "tests/simulation/exhaustive.h"
#include "tests/simulation/oracle_pool.h"
#include "tests/simulation/oracle_queue.h"
#include "tests/simulation/oracle_store.h"
#include "tests/simulation/virtual_disk.h"

// The oracle's record of a lease.
struct record {
    TAILQ_ENTRY(record) link; // of those that live
    char id[32];
    enum lease_state state;
    enum acknowledged acked;
    uint64_t scan;      // of the last look that found it
    int64_t lost_since; // with all its boxes there; 0: it is not
    bool lives, had_ticket;
    bool granting, adopting; // since the last look
    bool gone;               // one of its boxes was declared gone
};

TAILQ_HEAD(record_list, record);

static struct record_list living = TAILQ_HEAD_INITIALIZER(living);
static void *records;
static uint64_t scans;
static int64_t last_event = -1, next_progress;
static unsigned last_start, restored_start;
static struct dice store_dice = {.state = 1};
static bool store_due;

// ---- records ----

static int compare_records(const void *a, const void *b)
{
    return strcmp(((const struct record *)a)->id, ((const struct record *)b)->id);
}

static struct record *record_find_or_add(const char *id)
{
    struct record key, **found, *record;

    snprintf(key.id, sizeof(key.id), "%s", id);
    found = tsearch(&key, &records, compare_records);
    if (!found)
        abort();
    if (*found != &key)
        return *found;
    record = calloc(1, sizeof(*record));
    if (!record)
        abort();
    strcpy(record->id, key.id);
    *found = record;
    return record;
}

// The faults of a trial are the product's alone.
static struct record *record_of(const char *id)
{
    exhaustive_hold(true);
    struct record *record = record_find_or_add(id);
    exhaustive_hold(false);
    return record;
}

void oracle_acknowledged(const char *lease, enum acknowledged what)
{
    struct record *record = record_of(lease);

    if (network_start < restored_start)
        return; // the answer is older than the restored database
    if (what > record->acked)
        record->acked = what;
}

void oracle_unknown(const char *lease)
{
    if (record_of(lease)->acked && network_start >= restored_start)
        world_broken("lease %s was acknowledged and is forgotten", lease);
}

void oracle_doubt(void)
{
    store_due = true;
}

// Memory is compared with the database after the first events of each kind, and now and then.
static void look_at_kind(const char *kind)
{
    enum { KINDS_MAX = 64, CLOSELY = 3 };
    static struct {
        char name[32];
        unsigned seen;
    } kinds[KINDS_MAX];
    size_t i = 0;

    while (i < KINDS_MAX - 1 && *kinds[i].name && strcmp(kinds[i].name, kind))
        i++;
    snprintf(kinds[i].name, sizeof(kinds[i].name), "%s", kind);
    store_due |= ++kinds[i].seen <= CLOSELY || dice_chance(&store_dice, 30);
}

// A lease whose box was declared gone ends without that box. Others confirm the end by themselves.
void oracle_event(const struct store_event *event)
{
    look_at_kind(event->kind);
    if (!event->lease)
        return;
    if (!strcmp(event->kind, "lease.granted"))
        record_of(event->lease)->granting = true;
    if (!strcmp(event->kind, "lease.adopted"))
        record_of(event->lease)->adopting = true;
    if ((!strcmp(event->kind, "lease.freed") || !strcmp(event->kind, "lease.ended")) &&
        event->box && strncmp(event->actor, "box ", 4))
        record_of(event->lease)->gone = true;
}

// ---- the life of a lease ----

static enum acknowledged rank_of(enum lease_state state)
{
    switch (state) {
    case LEASE_QUEUED: return ACKED_QUEUED;
    case LEASE_GRANTED:
    case LEASE_LOST: return ACKED_GRANTED;
    case LEASE_ENDING:
    case LEASE_ENDED: break;
    }
    return ACKED_RELEASED;
}

static bool is_path(enum lease_state from, enum lease_state to)
{
    switch (from) {
    case LEASE_QUEUED: return to == LEASE_GRANTED || to == LEASE_LOST;
    case LEASE_GRANTED: return to == LEASE_LOST || to == LEASE_ENDING;
    case LEASE_LOST: return to == LEASE_GRANTED || to == LEASE_ENDING;
    case LEASE_ENDING:
    case LEASE_ENDED: break;
    }
    return false;
}

// Returns true if reports of the box must arrive.
static bool is_there(const struct pool_box *box)
{
    const struct simulated_box *simulated = box_with_name(box->name);

    return box->connected && box->reported_here && simulated->link.lost == 0;
}

// A lease is lost only while one of its boxes is away.
static void look_at_loss(const struct pool_lease *lease, struct record *record)
{
    bool all = lease->state == LEASE_LOST;

    for (size_t i = 0; i < lease->hold_count; i++)
        all &= !hold_stands(&lease->holds[i]) || is_there(lease->holds[i].box);
    if (!all)
        record->lost_since = 0;
    else if (!record->lost_since)
        record->lost_since = world_now;
    else if (world_now - record->lost_since > 2 * MINUTE)
        world_broken("lease %s is lost, and its boxes are there", lease->id);
}

static void look_at(const struct pool_lease *lease, bool restarted)
{
    struct record *record = record_of(lease->id);

    if (!record->lives) {
        if (record->scan && !restarted)
            world_broken("lease %s had ended and lives again", lease->id);
        record->lives = true;
        TAILQ_INSERT_TAIL(&living, record, link);
    } else if (record->state != lease->state && !restarted &&
               !is_path(record->state, lease->state) &&
               !(record->adopting && record->state == LEASE_QUEUED &&
                 is_path(LEASE_GRANTED, lease->state))) {
        world_broken("lease %s goes from %s to %s", lease->id, lease_state_names[record->state],
                     lease_state_names[lease->state]);
    }
    if (record->granting && lease->state == LEASE_GRANTED && !restarted)
        oracle_check_order(broker_process()->broker->pool, lease);
    record->granting = record->adopting = false;
    look_at_loss(lease, record);
    if (rank_of(lease->state) < record->acked)
        world_broken("lease %s is %s, and more was acknowledged", lease->id,
                     lease_state_names[lease->state]);
    record->state = lease->state;
    record->had_ticket = lease->ticket_until != 0;
    record->scan = scans;
}

// The lease is not in the pool any more.
static void look_for(struct record *record, bool restarted)
{
    json_t *ended;

    disk_hold_faults(true);
    ended = store_ended_lease(broker_process()->broker->store, record->id);
    disk_hold_faults(false);
    if (!ended && (record->acked || !restarted))
        world_broken("lease %s (%s) was acknowledged as %d and is forgotten", record->id,
                     lease_state_names[record->state], record->acked);
    // A crash may undo what was not acknowledged yet, and it may happen again.
    if (!ended && restarted)
        record->scan = 0;
    json_decref(ended);
    if (record->had_ticket && !restarted && !record->gone && record->state != LEASE_ENDING &&
        record->state != LEASE_QUEUED)
        world_broken("lease %s ended without its boxes", record->id);
    oracle_look_for_sessions(broker_process()->broker, record->id);
    record->lives = false;
    TAILQ_REMOVE(&living, record, link);
}

static void forget(struct record *record)
{
    record->acked = ACKED_NOTHING;
    record->scan = 0;
    if (record->lives)
        TAILQ_REMOVE(&living, record, link);
    record->lives = false;
}

static void forget_node(const void *node, VISIT visit, int depth)
{
    (void)depth;
    if (visit == postorder || visit == leaf)
        forget(*(struct record *const *)node);
}

// The database is an older copy: what was acknowledged since is lost.
static void forget_all(void)
{
    restored_start = broker_starts;
    twalk(records, forget_node);
}

static void look_at_all(void)
{
    const struct server *server = broker_process();
    const struct broker *broker = server ? server->broker : NULL;
    bool restarted = last_start != broker_starts;
    const struct pool_lease *lease;
    struct record *record, *next;

    if (!server)
        return;
    if (world_now >= next_progress) {
        next_progress = world_now + 2 * SECOND;
        oracle_check_progress(broker, broker_starts);
    }
    if (!restarted && !store_due && broker->last_event == last_event)
        return;
    last_event = broker->last_event;
    last_start = broker_starts;
    scans++;
    if (broker_process_was_restored())
        forget_all();
    TAILQ_FOREACH(lease, &broker->pool->leases, all)
        look_at(lease, restarted);
    for (record = TAILQ_FIRST(&living); record; record = next) {
        next = TAILQ_NEXT(record, link);
        if (record->scan != scans)
            look_for(record, restarted);
    }
    oracle_check_pool(broker->pool);
    if (restarted || store_due) {
        oracle_check_store(broker);
        oracle_check_tickets(broker);
    }
    store_due = false;
}

void oracle_check(void)
{
    exhaustive_hold(true);
    look_at_all();
    exhaustive_hold(false);
}

bool oracle_leases_run_out(void)
{
    const struct server *server = broker_process();
    const struct pool_lease *lease;

    if (!server)
        return false;
    TAILQ_FOREACH(lease, &server->broker->pool->leases, all)
        if (lease->expires && lease->expires > host_wall_ns(&broker_host) / SECOND - 300)
            return true;
    return false;
}

void oracle_check_served(void)
{
    const struct server *server = broker_process();
    const struct pool_lease *lease;

    if (!server)
        return;
    TAILQ_FOREACH(lease, &server->broker->pool->leases, all)
        if (lease->state != LEASE_QUEUED)
            return; // its user is gone, and it runs out later
    oracle_check_waiting(server->broker->pool);
}

void oracle_check_idle(void)
{
    const struct server *server = broker_process();
    const struct pool *pool;

    if (!server)
        world_broken("the broker does not come back");
    pool = server->broker->pool;
    if (!TAILQ_EMPTY(&pool->leases))
        world_broken("lease %s is left over: %s", TAILQ_FIRST(&pool->leases)->id,
                     lease_state_names[TAILQ_FIRST(&pool->leases)->state]);
    for (unsigned i = 0; i < box_count; i++) {
        const struct pool_box *box = pool_find_box(pool, boxes[i].host.name);
        if (!box || !box->connected)
            world_broken("box %s is not back", boxes[i].host.name);
        if (!TAILQ_EMPTY(&boxes[i].box->workers))
            world_broken("box %s still runs a session of lease %s", boxes[i].host.name,
                         TAILQ_FIRST(&boxes[i].box->workers)->session.grant.lease);
    }
    oracle_check_free(pool);
}
