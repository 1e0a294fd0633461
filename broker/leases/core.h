// SPDX-License-Identifier: BSD-3-Clause
// Holds the broker's state and its rules of change. Each operation (leases.h, boxes.h, tickets.h)
// decides on the pool, writes its change and one event in one transaction, and changes the pool
// only after the commit. A failed operation has changed nothing, neither in memory nor on disk.
#ifndef RGPU_BROKER_CORE_H
#define RGPU_BROKER_CORE_H

#include <jansson.h>

#include "broker/pool/pool.h"
#include "broker/store/storage.h"
#include "broker/store/store.h"
#include "common/service/metrics.h"
#include "common/security/ticket.h"

struct broker_limits {
    double away_seconds;        // silence after which a box is away
    int64_t ticket_seconds;     // validity of a ticket unless the caller requests another
    bool privacy;               // all leases require privacy
    int64_t max_ticket_seconds; // longest validity that a caller may request
    int64_t history_seconds;    // how long ended leases are kept
    int64_t keep_events;
    int64_t max_lifetime; // longest lifetime of a lease, 0: no limit
};

// Counters since the start of the broker: name, and help text for /metrics.
#define BROKER_COUNTERS(ROW) \
    ROW(grants, "Leases granted.") \
    ROW(refusals, "Requests refused for want of GPUs.") \
    ROW(queued, "Requests that had to wait.") \
    ROW(releases, "Leases whose end was begun.") \
    ROW(revocations, "Leases ended by an administrator.") \
    ROW(expirations, "Leases that ran out.") \
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
    struct ticket_keyring keys; // of the cluster; count 0: no tickets are issued
    char run[33];               // id of this start, see history.h
    int64_t epoch;
    uint64_t last_sequence; // highest in the queue
    int64_t last_event;
    bool queue_dirty;          // capacity may have become free
    int64_t wall_minus_steady; // detects changes of the wall clock
    double next_trim, last_tick;
    struct storage storage;
    struct holder *holder; // of the state directory; NULL in tests
};

// A change and its author, for the event log: "admin uid=0", "box gpu01", "broker".
struct change {
    const char *kind, *actor;
    const struct pool_box *box;
    const struct pool_gpu *gpu;
    const struct pool_lease *lease;
    json_t *detail; // taken over by broker_commit, and by broker_begin if it fails
};

// Begins a change; for the files of the core only. On a full disk only broker_begin_release
// succeeds, for changes that free GPUs.
enum outcome broker_begin(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));
enum outcome broker_begin_release(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));
// Writes the event and commits; rolls back if `error` is set. Returns the first error.
enum outcome broker_commit(struct broker *broker, enum outcome error, const struct change *change)
    __attribute__((warn_unused_result));
// Saves the new state of CHANGE's lease as one change.
enum outcome broker_save_lease(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));

// Reads the "reason" from a box's report, without bytes that could control a terminal. Returns
// false if there is none.
enum { BOX_REASON_MAX = 256 };
bool broker_read_reason(const json_t *said, char reason[BOX_REASON_MAX]);

#endif
