// SPDX-License-Identifier: BSD-3-Clause
// Detects that the database was restored from an older copy.
//
// A run is one start of the broker, with a random id. A point in the history is the id of a run and
// the number of an event. Boxes remember the last point that the broker sent to them. If the
// database does not contain that point, a part of the history is lost and the broker begins a new
// epoch. A ticket carries the number of its epoch. A box that registers in a new epoch receives a
// list of live leases, and accepts older tickets for these leases only. It reclaims others that
// it serves, with their tickets (adoption.h).
#ifndef RGPU_BROKER_HISTORY_H
#define RGPU_BROKER_HISTORY_H

#include "broker/leases/core.h"

#define HISTORY_AHEAD_MAX 86400 // maximum lead of an epoch's number over this clock, in seconds

// Event with which a copy of the database begins a new epoch (restoration.h).
#define HISTORY_RESTORED "database.restored"

// Begins a run. Must be called once, after the pool is loaded.
enum outcome history_start(struct broker *broker) __attribute__((warn_unused_result));

// Begins a new epoch, because this broker replaces another one that may still run. Boxes then
// reject tickets that the other one issues.
enum outcome history_take_over(struct broker *broker) __attribute__((warn_unused_result));

// Returns true if the database contains an event of a run, of whatever epoch.
bool history_has(struct broker *broker, const char *run, int64_t event);
// Returns the number of the epoch after LAST. It is a time, and so the number of no lost epoch.
int64_t history_next_epoch(int64_t last);
// Begins a new epoch with a number above SEEN, because BOX has shown by WHY, which the function
// takes over, that a part of the history is lost. All boxes must then register again.
enum outcome history_leave(struct broker *broker, const struct pool_box *box, int64_t seen,
                           json_t *why, const char *actor) __attribute__((warn_unused_result));
// Checks the point that a box sends when it registers: {"epoch":, "run":, "event":}, or NULL. If
// the database does not contain that point, begins a new epoch, in which all boxes must register
// again.
enum outcome history_check_point(struct broker *broker, const struct pool_box *box,
                                 const json_t *seen, const char *actor)
    __attribute__((warn_unused_result));
// Checks the sessions of a box; each names its "lease" and the "epoch" of its ticket. Begins a new
// epoch if a session of the current epoch has an unknown lease: its grant is in a lost part of the
// history.
enum outcome history_check_sessions(struct broker *broker, struct pool_box *box,
                                    const json_t *sessions, const char *actor)
    __attribute__((warn_unused_result));

// Adds the current point to an answer, as members "run" and "event".
void history_put_point(const struct broker *broker, json_t *answer);
// Adds the live leases on a box to an answer, as "leases", and for each the epoch of its grant, as
// "lease_epochs": their tickets from then on are valid. In a part of the history that was lost, a
// request that waited may have been granted other GPUs.
void history_put_leases(struct broker *broker, const struct pool_box *box, json_t *answer);

// Handles live leases that the box was ordered to refuse forever. A lease of an earlier epoch was
// ended in the lost part of the history, so it is ended here too. A lease of the current epoch was
// not ended by this broker, so its id is added to *RESTORED, and the box must accept the lease
// again.
enum outcome history_reconcile(struct broker *broker, const struct pool_box *box,
                               const json_t *refused, const char *actor, json_t **restored)
    __attribute__((warn_unused_result));

#endif
