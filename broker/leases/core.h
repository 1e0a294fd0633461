// SPDX-License-Identifier: BSD-3-Clause
// State of the broker, and the transaction that every change goes through. An operation (leases.h,
// boxes.h, tickets.h) decides from the pool, writes the change and one event in one transaction,
// and modifies the pool in memory after the commit. A failed operation therefore changes nothing,
// in memory or on disk. For one thread only.
#ifndef RGPU_BROKER_CORE_H
#define RGPU_BROKER_CORE_H

#include <jansson.h>

#include "broker/pool/pool.h"
#include "broker/replication/replication.h"
#include "broker/store/storage.h"
#include "broker/store/store.h"
#include "common/service/metrics.h"
#include "common/security/ticket.h"

struct broker_limits {
    double away_seconds;        // time without a report after which a box counts as away
    int64_t ticket_seconds;     // default lifetime of a ticket
    bool privacy;               // all leases require encrypted connections
    int64_t max_ticket_seconds; // maximum lifetime of a ticket
    int64_t history_seconds;    // time for which ended leases are kept
    int64_t keep_events;
    int64_t max_lifetime; // maximum lifetime of a lease in seconds, 0: no limit
    uint64_t bandwidth;   // of a lease on each box and in each direction, bytes per second; 0: any
};

// Counters since the start of the broker: name, and help text for /metrics.
#define BROKER_COUNTERS(ROW) \
    ROW(grants, "Leases granted.") \
    ROW(refusals, "Requests refused for want of GPUs.") \
    ROW(queued, "Requests that had to wait.") \
    ROW(releases, "Leases whose end was begun.") \
    ROW(revocations, "Leases ended by an administrator.") \
    ROW(expirations, "Leases that ran out.") \
    ROW(adoptions, "Leases adopted from boxes after the database was restored.") \
    ROW(tickets, "Tickets issued.")

#define BROKER_COUNTER_(name, help) uint64_t name;
struct broker_counters {
    BROKER_COUNTERS(BROKER_COUNTER_)
};
#undef BROKER_COUNTER_

struct broker {
    struct store *store;
    struct pool *pool;
    struct broker_limits limits;
    struct broker_counters counters;
    struct histogram commits;
    struct ticket_keyring keys; // cluster keys; if there are none, no tickets are issued
    char run[33];               // random id of this start of the broker, see history.h
    int64_t epoch;
    bool lost;              // this epoch began because a part of the history was lost
    uint64_t last_sequence; // highest sequence number in the queue
    int64_t last_event;
    bool queue_dirty; // a queued lease may have become grantable
    // difference of wall clock and monotonic clock; a new value shows that the wall clock was set
    int64_t wall_minus_steady;
    double next_trim, last_tick;
    json_t *names; // by prefix of keys: its scheduler, and the end of its claim
    struct storage storage;
    struct holder *holder;           // lock of the state directory; NULL in tests
    struct replication *replication; // NULL unless other brokers follow this one
};

// One change, for the event log. ACTOR names its author, such as "admin uid=0", "box gpu01",
// "broker".
struct change {
    const char *kind, *actor;
    const struct pool_box *box;
    const struct pool_gpu *gpu;
    const struct pool_lease *lease;
    json_t *detail; // broker_commit takes ownership; so does a broker_begin that fails
};

// Begin a transaction; only for files of broker/leases. On a full disk only broker_begin_release
// succeeds. Changes that free GPUs use it.
enum outcome broker_begin(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));
enum outcome broker_begin_release(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));
// Writes the event and commits if ERROR is OUTCOME_DONE; otherwise rolls back. Returns the first
// error.
enum outcome broker_commit(struct broker *broker, enum outcome error, const struct change *change)
    __attribute__((warn_unused_result));
// Writes the present state of CHANGE's lease to the database, in a transaction of its own.
enum outcome broker_save_lease(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));

// Returns OUTCOME_DONE or the reason why the broker is not healthy, for /healthz.
enum outcome broker_problem(const struct broker *broker);

// Copies member "reason" of a box's report without control characters, which could harm a terminal.
// Returns false if there is no reason.
enum { BOX_REASON_MAX = 256 };
bool broker_read_reason(const json_t *said, char reason[BOX_REASON_MAX]);

#endif
