// SPDX-License-Identifier: BSD-3-Clause
// The box's side of the pool: registers at the broker, reports sessions, and ends those of leases that
// the broker takes back. Nothing here stops a session or refuses a client because the broker is away.
#ifndef RGPU_DAEMON_BROKER_AGENT_H
#define RGPU_DAEMON_BROKER_AGENT_H

#include <stdbool.h>

#include "daemon/box.h"

// Does nothing where no broker is set. -errno after logging.
int broker_agent_open(struct box *box) __attribute__((warn_unused_result));
void broker_agent_close(struct box *box);

// Called in the review of the box: devices became known, a worker has ended, the state has changed.
void broker_agent_review(struct box *box);

// Why sessions of a lease are refused for good, or NULL.
const char *broker_agent_objection(const struct box *box, const struct session_grant *grant);

#endif
