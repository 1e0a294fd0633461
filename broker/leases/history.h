// SPDX-License-Identifier: BSD-3-Clause
// Detects that the database was restored from an older copy.
//
// A point in the history is a run (one start of the broker, with a random id) and the number of an
// event. Boxes remember the last point that the broker sent them. If the database does not know
// that run, or the run never reached that event, a part of the history is lost, and a new epoch
// begins. Tickets name their epoch. Boxes accept tickets of an earlier epoch only for the leases
// that the broker listed when they registered in the new one.
#ifndef RGPU_BROKER_HISTORY_H
#define RGPU_BROKER_HISTORY_H

#include "broker/leases/core.h"

#define HISTORY_AHEAD_MAX 86400 // longest lead of an epoch over this clock, in seconds

// Begins a run; called once, after the pool is loaded.
enum outcome history_start(struct broker *broker) __attribute__((warn_unused_result));

// Begins a new epoch after this broker has replaced another one that may still run somewhere. Boxes
// then accept no ticket that the other one issues.
enum outcome history_take_over(struct broker *broker) __attribute__((warn_unused_result));

// Checks the point that a box sends when it registers: {"epoch":, "run":, "event":}, or NULL.
// Begins a new epoch if this database does not have that point. Registered boxes must then register
// again.
enum outcome history_check_point(struct broker *broker, const struct pool_box *box,
                                 const json_t *seen, const char *actor)
    __attribute__((warn_unused_result));
// Checks the sessions of a box, each with its "lease" and the "epoch" of its ticket. An unknown
// lease of this epoch was granted in a lost part, so a new epoch begins.
enum outcome history_check_sessions(struct broker *broker, struct pool_box *box,
                                    const json_t *sessions, const char *actor)
    __attribute__((warn_unused_result));

// Adds the present point to an answer: "run" and "event".
void history_put_point(const struct broker *broker, json_t *answer);
// Lists the live leases on a box; their tickets of earlier epochs stay valid.
json_t *history_live_leases(struct broker *broker, const struct pool_box *box);

// Handles live leases that a box was ordered to refuse for good. If the lease is of an earlier
// epoch, the order was given in the lost part of the history, and the lease ends here as well. If
// it is of this epoch, this broker gave no such order: *restored (of strings) names the lease, and
// the box must accept it again.
enum outcome history_reconcile(struct broker *broker, const struct pool_box *box,
                               const json_t *refused, const char *actor, json_t **restored)
    __attribute__((warn_unused_result));

#endif
