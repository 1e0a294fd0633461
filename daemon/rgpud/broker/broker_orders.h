// SPDX-License-Identifier: BSD-3-Clause
// Tracks the broker's orders about leases and their execution on this box. Orders that must outlive
// the daemon are on disk (revocations.h, broker_history.h). Lists and answers are JSON as in
// docs/reference/broker-api.md.
#ifndef RGPU_DAEMON_BROKER_ORDERS_H
#define RGPU_DAEMON_BROKER_ORDERS_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/rgpud/box/box.h"

struct ending; // a lease that must end; its sessions may still be ending

struct broker_orders {
    struct box *box;
    struct revocations *revocations;
    struct history *history;
    json_t *refused; // live leases of the broker that are on the list of revocations
    struct ending *endings;
    size_t ending_count;
    struct state_saver *saver;
    uint64_t begun,
        done; // number of the last write of the revocations, and of the last one on disk
    bool history_changed;  // since the last write
    int64_t not_before_ms; // earliest time of a write after one failed
};

// Opens the files. Returns 0 or -errno after logging. The caller closes ORDERS in both cases.
int broker_orders_open(struct box *box, struct broker_orders *orders)
    __attribute__((warn_unused_result));
void broker_orders_close(struct broker_orders *orders);

// Refuses the leases of a list from this moment and ends their sessions. If CONFIRM is set, a
// report names the ends after everything is on disk. Returns 0 or -errno.
int broker_orders_take(struct broker_orders *orders, const json_t *list, bool confirm)
    __attribute__((warn_unused_result));
// Returns true if any lease that must end still has sessions, or if its end is not on disk.
bool broker_orders_wait(const struct broker_orders *orders);
// Returns true if LIST repeats an end that the previous report has confirmed.
bool broker_orders_repeat(const struct broker_orders *orders, const json_t *list);
// Returns the leases whose end is complete, for a report.
json_t *broker_orders_endings(struct broker_orders *orders);

// Notes the current point of the broker's history from an answer. Returns -EBADMSG if the answer
// has none.
int broker_orders_note(struct broker_orders *orders, const json_t *answer)
    __attribute__((warn_unused_result));
// Notes the point, the epoch and the live leases from the answer to a registration. Returns -ERANGE
// if the epoch is older than the known one, or in the future.
int broker_orders_adopt(struct broker_orders *orders, const json_t *answer)
    __attribute__((warn_unused_result));
// Ends sessions of leases that the broker does not know.
void broker_orders_end_unknown(struct broker_orders *orders);
// Accepts leases again that the box refuses but the broker reports as live.
void broker_orders_restore(struct broker_orders *orders, const json_t *list);
// Writes pending changes to disk.
void broker_orders_save(struct broker_orders *orders);
// Adds the last known point to the body of a registration.
void broker_orders_put_point(const struct broker_orders *orders, json_t *body);

// Returns the reason for refusing all sessions of a lease, or NULL.
const char *broker_orders_objection(const struct broker_orders *orders,
                                    const struct session_grant *grant);

#endif
