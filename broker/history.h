// SPDX-License-Identifier: BSD-3-Clause
// One history, and what tells that it was left: a database that was restored from an older copy.
//
// A point in the history is a run (one start of the broker, with a random id) and the number of an
// event. Boxes remember the last point that they heard of. A run that the database does not know, or
// an event that the run never came to, was in a part of the history that is lost; a new epoch begins
// then. Tickets name their epoch. Of an earlier one, boxes accept those of leases that the broker has
// named to them when they registered in the new one, and no others.
#ifndef RGPU_BROKER_HISTORY_H
#define RGPU_BROKER_HISTORY_H

#include "broker/core.h"

#define HISTORY_AHEAD_MAX 86400 // seconds that an epoch may be ahead of this clock

// Begins a run; called once, when the pool is loaded.
enum outcome history_start(struct broker *broker) __attribute__((warn_unused_result));

// After another broker, which may still run somewhere: a new epoch, so that boxes take no ticket that it
// gives from now on.
enum outcome history_take_over(struct broker *broker) __attribute__((warn_unused_result));

// What a box says when it registers: {"epoch":, "run":, "event":}, or NULL. Begins a new epoch where
// the box has seen what this database has not. Boxes that have registered must then do so again.
enum outcome history_check_point(struct broker *broker, const struct pool_box *box,
                                 const json_t *seen, const char *actor)
    __attribute__((warn_unused_result));
// The same for the sessions of a box, each with its "lease" and the "epoch" of its ticket: a lease of
// this epoch that nobody knows of was granted in a lost part.
enum outcome history_check_sessions(struct broker *broker, struct pool_box *box,
                                    const json_t *sessions, const char *actor)
    __attribute__((warn_unused_result));

// Adds "run" and "event", the present point, to an answer.
void history_put_point(const struct broker *broker, json_t *answer);
// The live leases on a box: those whose tickets of earlier epochs stay good.
json_t *history_live_leases(struct broker *broker, const struct pool_box *box);

// For leases that live here, but that a box has been told to refuse for good. If the lease is of an
// earlier epoch, that order was given in the lost part of the history: the lease ends here as well. If it
// is of this epoch, this broker gave no such order: *restored (of strings) names it, and the box is to
// take it again.
enum outcome history_reconcile(struct broker *broker, const struct pool_box *box,
                               const json_t *refused, const char *actor, json_t **restored)
    __attribute__((warn_unused_result));

#endif
