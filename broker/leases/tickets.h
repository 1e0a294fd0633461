// SPDX-License-Identifier: BSD-3-Clause
// Issues tickets for granted leases.
#ifndef RGPU_BROKER_TICKETS_H
#define RGPU_BROKER_TICKETS_H

#include "broker/leases/core.h"

// Issues a bundle of tickets (common/security/ticket.h) for a granted lease; the caller frees
// *BUNDLE. CHOSEN has one flag for each GPU of the lease and selects those that the tickets open;
// NULL selects all. SECONDS is the tickets' lifetime. OUTCOME_NO_KEY: there is no cluster key;
// OUTCOME_TOO_LONG: SECONDS exceeds the limit.
enum outcome broker_issue_ticket(struct broker *broker, struct pool_lease *lease,
                                 const bool *chosen, int64_t seconds, const char *actor,
                                 char **bundle) __attribute__((warn_unused_result));
// As broker_issue_ticket, but with the end of the lifetime UNTIL, in seconds since 1970. UNTIL must
// not exceed the lease's ticket_until, which the database already contains.
enum outcome broker_write_ticket(struct broker *broker, const struct pool_lease *lease,
                                 const bool *chosen, int64_t until, char **bundle)
    __attribute__((warn_unused_result));

#endif
