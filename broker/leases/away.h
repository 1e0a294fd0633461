// SPDX-License-Identifier: BSD-3-Clause
// Suspends and resumes leases. The broker orders a suspension; the boxes save the lease's sessions
// and report it; then other leases can use the GPUs. A lease that resumes gets its GPUs back as
// soon as all of them are free, before any queued lease. Its boxes then restore the sessions.
#ifndef RGPU_BROKER_AWAY_H
#define RGPU_BROKER_AWAY_H

#include "broker/leases/core.h"

// Order the suspension or the resumption of a lease; a repeated order succeeds. OUTCOME_QUEUED: the
// lease has no GPUs yet; OUTCOME_ENDED: it has ended.
enum outcome broker_suspend_lease(struct broker *broker, struct pool_lease *lease,
                                  const char *actor) __attribute__((warn_unused_result));
enum outcome broker_resume_lease(struct broker *broker, struct pool_lease *lease, const char *actor)
    __attribute__((warn_unused_result));

// Handles a box's report on its suspensions: [{"lease":, "state":, "reason":}].
enum outcome broker_hear_suspensions(struct broker *broker, struct pool_box *box,
                                     const json_t *list, const char *actor)
    __attribute__((warn_unused_result));
// Returns the leases that the box must suspend, or, if IDLE is set, those that the box itself has
// suspended because their programs are idle.
json_t *broker_suspensions(const struct broker *broker, const struct pool_box *box, bool idle);

// Grants the GPUs of resuming leases whose GPUs are all free.
void broker_serve_returning(struct broker *broker);

#endif
