// SPDX-License-Identifier: BSD-3-Clause
// Tickets for granted leases.
#ifndef RGPU_BROKER_TICKETS_H
#define RGPU_BROKER_TICKETS_H

#include "broker/core.h"

// A bundle (see common/ticket.h) for a granted lease; the caller frees it. `chosen`: for each place
// in the lease whether the ticket opens that GPU; NULL: all. OUTCOME_NO_KEY; OUTCOME_TOO_LONG: a ticket
// may not be valid for so long.
enum outcome broker_issue_ticket(struct broker *broker, struct pool_lease *lease,
                                 const bool *chosen, int64_t seconds, const char *actor,
                                 char **bundle) __attribute__((warn_unused_result));
// The bundle itself, for a lease whose ticket_until covers `until`, which is within the limit.
enum outcome broker_write_ticket(struct broker *broker, const struct pool_lease *lease,
                                 const bool *chosen, int64_t until, char **bundle)
    __attribute__((warn_unused_result));

#endif
