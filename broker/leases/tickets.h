// SPDX-License-Identifier: BSD-3-Clause
// Issues tickets for granted leases.
#ifndef RGPU_BROKER_TICKETS_H
#define RGPU_BROKER_TICKETS_H

#include "broker/leases/core.h"

// Issues a bundle (see common/security/ticket.h) for a granted lease; the caller frees it. `chosen`
// has a flag for each GPU of the lease: the ticket opens those that are set; NULL: all.
// OUTCOME_NO_KEY; OUTCOME_TOO_LONG: `seconds` exceeds the limit.
enum outcome broker_issue_ticket(struct broker *broker, struct pool_lease *lease,
                                 const bool *chosen, int64_t seconds, const char *actor,
                                 char **bundle) __attribute__((warn_unused_result));
// Writes the bundle of a lease whose ticket_until is not before `until`, which is within the limit.
enum outcome broker_write_ticket(struct broker *broker, const struct pool_lease *lease,
                                 const bool *chosen, int64_t until, char **bundle)
    __attribute__((warn_unused_result));

#endif
