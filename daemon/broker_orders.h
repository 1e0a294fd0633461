// SPDX-License-Identifier: BSD-3-Clause
// What the broker has said of leases, and what this box has made of it. Kept on disk as far as it must
// outlive the daemon (revocations.h, broker_history.h). Lists and answers are JSON as in docs/broker-api.md.
#ifndef RGPU_DAEMON_BROKER_ORDERS_H
#define RGPU_DAEMON_BROKER_ORDERS_H

#include <jansson.h>
#include <stdbool.h>

#include "daemon/box.h"

struct ending; // a lease that is to end; its sessions may still be about to go

struct broker_orders {
    struct box *box;
    struct revocations *revocations;
    struct history *history;
    json_t *refused; // leases of the broker's that are on the list of revocations
    struct ending *endings;
    size_t ending_count;
    struct state_saver *saver;
    uint64_t begun,
        done; // writings of the list of revocations: the last one, and the last that is on disk
    bool history_changed;  // since it was last given to be written
    int64_t not_before_ms; // after a writing that failed
};

// -errno after logging; what is open is to be closed in any case.
int broker_orders_open(struct box *box, struct broker_orders *orders)
    __attribute__((warn_unused_result));
void broker_orders_close(struct broker_orders *orders);

// Refuses the leases of a list from now on and ends their sessions; with CONFIRM the ends are named in
// a report, once all that is on disk. -ENOMEM.
int broker_orders_take(struct broker_orders *orders, const json_t *list, bool confirm)
    __attribute__((warn_unused_result));
// Whether leases that are to end still have sessions, or their end is not on disk.
bool broker_orders_wait(const struct broker_orders *orders);
// The broker asks once more for what the report before has confirmed.
bool broker_orders_repeat(const struct broker_orders *orders, const json_t *list);
// Leases whose end is complete, for a report.
json_t *broker_orders_endings(struct broker_orders *orders);

// The present point of the broker's history, from an answer. -EBADMSG: it is none.
int broker_orders_note(struct broker_orders *orders, const json_t *answer)
    __attribute__((warn_unused_result));
// The same with the epoch and the leases that live here, from the answer to a registration.
// -ERANGE: an epoch that is over, or yet to come.
int broker_orders_adopt(struct broker_orders *orders, const json_t *answer)
    __attribute__((warn_unused_result));
// Ends sessions of leases that the broker does not know any more.
void broker_orders_end_unknown(struct broker_orders *orders);
// Takes leases again that were refused and of which the broker says that they live.
void broker_orders_restore(struct broker_orders *orders, const json_t *list);
// Has written what changed and could not be written before.
void broker_orders_save(struct broker_orders *orders);
// Adds the last point to a registration.
void broker_orders_put_point(const struct broker_orders *orders, json_t *body);

// Why sessions of a lease are refused for good, or NULL.
const char *broker_orders_objection(const struct broker_orders *orders,
                                    const struct session_grant *grant);

#endif
