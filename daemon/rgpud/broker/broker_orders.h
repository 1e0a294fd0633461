// SPDX-License-Identifier: BSD-3-Clause
// Orders of the broker about leases, and their execution. Orders that must survive a restart are on
// disk (revocations.h, broker_history.h). Lists and answers are JSON, see
// docs/reference/broker-api.md.
#ifndef RGPU_DAEMON_BROKER_ORDERS_H
#define RGPU_DAEMON_BROKER_ORDERS_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/rgpud/box/box.h"

struct ending; // a lease that must end and may still have sessions

struct broker_orders {
    struct box *box;
    struct revocations *revocations;
    struct history *history;
    struct served_leases *served;
    json_t *refused; // leases that the broker reports as live and the box has revoked
    struct ending *endings;
    size_t ending_count;
    struct state_saver *saver;
    uint64_t begun,
        done; // number of the last write of the revocations, and of the last one on disk
    bool history_changed;  // the history must be written
    int64_t not_before_ms; // after a failed write: earliest time of the next one
};

// Loads the files. Returns 0, or -errno after logging. The caller calls broker_orders_close() in
// both cases.
int broker_orders_open(struct box *box, struct broker_orders *orders)
    __attribute__((warn_unused_result));
void broker_orders_close(struct broker_orders *orders);

// Refuses the leases in LIST from now on and ends their sessions. CONFIRM: the next report names
// those whose end is complete and on disk. Returns 0 or -errno.
int broker_orders_take(struct broker_orders *orders, const json_t *list, bool confirm)
    __attribute__((warn_unused_result));
// Returns true if a lease that must end has sessions, or its end is not on disk.
bool broker_orders_wait(const struct broker_orders *orders);
// Returns true if LIST contains a lease whose end the previous report has confirmed.
bool broker_orders_repeat(const struct broker_orders *orders, const json_t *list);
// Returns the leases whose end is complete, for the next report.
json_t *broker_orders_endings(struct broker_orders *orders);

// Stores the point of the broker's history in ANSWER. Returns 0, or -EBADMSG if there is none.
int broker_orders_note(struct broker_orders *orders, const json_t *answer)
    __attribute__((warn_unused_result));
// Stores point, epoch and live leases in the answer to a registration. Returns 0, or -ERANGE if the
// epoch is older than the known one or in the future.
int broker_orders_adopt(struct broker_orders *orders, const json_t *answer)
    __attribute__((warn_unused_result));
// Reclaims, in the next report, the leases that this box serves and the broker does not know.
void broker_orders_reclaim_unknown(struct broker_orders *orders);
// Handles the broker's verdicts in ANSWER, and its questions for tickets. Returns true if a lease
// must be reclaimed again after a while.
bool broker_orders_take_verdicts(struct broker_orders *orders, const json_t *answer);
// Accepts revoked leases in LIST again, because the broker reports that they are live.
void broker_orders_restore(struct broker_orders *orders, const json_t *list);
// Adds the last known point of the history to a registration.
void broker_orders_put_point(const struct broker_orders *orders, json_t *body);

// Returns true if the broker's verdict on the lease is needed and not known. The next report then
// reclaims the lease.
bool broker_orders_delay(struct broker_orders *orders, const struct session_grant *grant);
// Returns a reason to refuse all sessions of a lease, or NULL.
const char *broker_orders_objection(const struct broker_orders *orders,
                                    const struct session_grant *grant);

#endif
