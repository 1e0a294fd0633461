// SPDX-License-Identifier: BSD-3-Clause
// Connects the box to the broker: registers it, reports sessions, and ends sessions of leases that
// the broker revokes. Without a connection to the broker, sessions continue and clients are served.
#ifndef RGPU_DAEMON_BROKER_AGENT_H
#define RGPU_DAEMON_BROKER_AGENT_H

#include <stdbool.h>

#include "daemon/rgpud/box/box.h"

// Starts the agent if a broker is set. Returns 0 or -errno after logging.
int broker_agent_open(struct box *box) __attribute__((warn_unused_result));
void broker_agent_close(struct box *box);

// Sends changes to the broker, such as new devices, an ended worker or another state. Called by
// lifecycle_review().
void broker_agent_review(struct box *box);

// The box's knowledge of its broker.
struct broker_contact {
    bool set;        // a broker is set
    bool registered; // it knows this box, and its last answer was proven and in time
    int64_t heard;   // seconds since its last proven answer, or -1
    const char *why; // reason if not registered; valid until the next event of the loop
};
void broker_agent_contact(const struct box *box, struct broker_contact *out);

// Keeps a ticket that a client uses, with which the box can reclaim the lease. TEXT is its
// header.payload.
void broker_agent_note(const struct box *box, const struct ticket *ticket, const char *text);
// Returns true if sessions of the lease must wait until the broker has said if it knows the lease.
bool broker_agent_delays(const struct box *box, const struct session_grant *grant);
// Returns the reason for refusing all sessions of a lease, or NULL.
const char *broker_agent_objection(const struct box *box, const struct session_grant *grant);

#endif
