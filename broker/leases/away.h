// SPDX-License-Identifier: BSD-3-Clause
// Suspends and resumes leases. The broker orders the suspension, the boxes carry it out and report
// it; then the lease's GPUs can go to other leases. A returning lease gets its GPUs back before any
// lease in the queue, as soon as all of them are free. Its boxes then bring its sessions back.
#ifndef RGPU_BROKER_AWAY_H
#define RGPU_BROKER_AWAY_H

#include "broker/leases/core.h"

// OUTCOME_QUEUED: the lease holds nothing yet; OUTCOME_ENDED: it has ended. A repeated order is no
// error.
enum outcome broker_suspend_lease(struct broker *broker, struct pool_lease *lease,
                                  const char *actor) __attribute__((warn_unused_result));
enum outcome broker_resume_lease(struct broker *broker, struct pool_lease *lease, const char *actor)
    __attribute__((warn_unused_result));

// Takes over a box's report about its suspensions: [{"lease":, "state":, "reason":}].
enum outcome broker_hear_suspensions(struct broker *broker, struct pool_box *box,
                                     const json_t *list, const char *actor)
    __attribute__((warn_unused_result));
// Lists the leases that are to be suspended on a box. IDLE: those that its box suspended because
// they are idle, until they make a request.
json_t *broker_suspensions(const struct broker *broker, const struct pool_box *box, bool idle);

// Grants the GPUs of returning leases as far as they are free.
void broker_serve_returning(struct broker *broker);

#endif
