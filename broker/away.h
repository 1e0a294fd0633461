// SPDX-License-Identifier: BSD-3-Clause
// Leases that are suspended. The broker says which are to be, boxes do it and say when it is so; then what the lease
// held is for others. A lease that is to return takes its GPUs again before anybody who waits in the queue, as soon as
// they are all free, and its boxes then bring its sessions back.
#ifndef RGPU_BROKER_AWAY_H
#define RGPU_BROKER_AWAY_H

#include "broker/core.h"

// OUTCOME_QUEUED: it holds nothing yet; OUTCOME_ENDED. To order it twice is no error.
enum outcome broker_suspend_lease(struct broker *broker, struct pool_lease *lease,
                                  const char *actor) __attribute__((warn_unused_result));
enum outcome broker_resume_lease(struct broker *broker, struct pool_lease *lease, const char *actor)
    __attribute__((warn_unused_result));

// What a box says of those that it was told to suspend, [{"lease":, "state":, "reason":}].
enum outcome broker_hear_suspensions(struct broker *broker, struct pool_box *box,
                                     const json_t *list, const char *actor)
    __attribute__((warn_unused_result));
// Those that are to be suspended on a box; IDLE: that are so until they ask for something.
json_t *broker_suspensions(const struct broker *broker, const struct pool_box *box, bool idle);

// Has those return for which there is room.
void broker_serve_returning(struct broker *broker);

#endif
