// SPDX-License-Identifier: BSD-3-Clause
// Adopts leases from the boxes that serve them, after the database was restored from an older copy
// (history.h). A box reclaims a lease with a sealed ticket of it. docs/admin/pool.md has the rules
// for leases that contradict each other.
#ifndef RGPU_BROKER_ADOPTION_H
#define RGPU_BROKER_ADOPTION_H

#include "broker/leases/core.h"

// Returns what a ticket says of its lease for a later adoption, as the text of a JSON object that
// the caller frees, or NULL without memory. CONTEXTS, which the function takes over, has the bytes
// of a context on each GPU of the ticket.
char *adoption_terms(const struct broker *broker, const struct pool_lease *lease, json_t *contexts);

// Judges the leases that a box reclaims in its REPORT, [{"lease":, "ticket":}]. RUNNING: ids of the
// leases with sessions on the box. Sets *VERDICTS to an object with a member for each lease. It is
// true if the lease holds the GPUs in its ticket, or a text with the reason for a refusal. It is
// null if the box must reclaim the lease again, because another lease has to end first.
enum outcome adoption_hear(struct broker *broker, struct pool_box *box, const json_t *report,
                           const json_t *running, const char *actor, json_t **verdicts)
    __attribute__((warn_unused_result));

#endif
