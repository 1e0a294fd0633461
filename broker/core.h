// SPDX-License-Identifier: BSD-3-Clause
// The broker's state as a whole, and how it changes: each operation (leases.h, boxes.h, tickets.h)
// decides on the pool, writes its change and one event in one transaction, and only after the commit
// changes the pool. An operation that fails has changed nothing, neither here nor on disk.
#ifndef RGPU_BROKER_CORE_H
#define RGPU_BROKER_CORE_H

#include <jansson.h>

#include "broker/pool.h"
#include "broker/storage.h"
#include "broker/store.h"
#include "common/metrics.h"
#include "common/ticket.h"

struct broker_limits {
    double away_seconds;        // silence after which a box counts as away
    int64_t ticket_seconds;     // validity of a ticket unless asked otherwise
    bool privacy;               // all leases ask for it
    int64_t max_ticket_seconds; // longest that may be asked for
    int64_t history_seconds;    // how long ended leases are kept
    int64_t keep_events;
    int64_t max_lifetime; // longest lifetime of a lease, 0: no limit
};

// What is counted from the start on: name and, for /metrics, what it is.
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
    struct ticket_keyring keys; // of the cluster; count 0: no tickets
    char run[33];               // of this start, see history.h
    int64_t epoch;
    uint64_t last_sequence; // in the queue
    int64_t last_event;
    bool queue_dirty;          // capacity may have come free
    int64_t wall_minus_steady; // to notice that the wall clock was changed
    double next_trim, last_tick;
    struct storage storage;
    struct holder *holder; // of the state directory; NULL in tests
};

// Who asks for a change, for the event log: "admin uid=0", "box gpu01", "broker".
struct change {
    const char *kind, *actor;
    const struct pool_box *box;
    const struct pool_gpu *gpu;
    const struct pool_lease *lease;
    json_t *detail; // taken over by broker_begin when it fails, and by broker_commit
};

// Used by the files of the core only. On a full disk only what makes GPUs free is begun.
enum outcome broker_begin(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));
enum outcome broker_begin_release(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));
// Writes the event unless `error`, and commits; else rolls back. Returns what went wrong.
enum outcome broker_commit(struct broker *broker, enum outcome error, const struct change *change)
    __attribute__((warn_unused_result));
// One change that is the new state of CHANGE's lease, and no more.
enum outcome broker_save_lease(struct broker *broker, const struct change *change)
    __attribute__((warn_unused_result));

// The "reason" in what a box says, without bytes that could steer a terminal. Returns false if there is none.
enum { BOX_REASON_MAX = 256 };
bool broker_read_reason(const json_t *said, char reason[BOX_REASON_MAX]);

#endif
