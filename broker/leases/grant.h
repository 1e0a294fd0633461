// SPDX-License-Identifier: BSD-3-Clause
// Steps of granting a lease, in the order of their use: set the holds from the plan, start the
// lifetime, write to the database, and mark the GPUs as held in memory. The last step cannot fail.
#ifndef RGPU_BROKER_GRANT_H
#define RGPU_BROKER_GRANT_H

#include "broker/leases/core.h"
#include "broker/pool/plan.h"

// Allocates the lease's holds from the plan. Returns OUTCOME_DONE or OUTCOME_NO_MEMORY.
enum outcome grant_set_holds(struct pool_lease *lease, const struct plan *plan)
    __attribute__((warn_unused_result));
void grant_drop_holds(struct pool_lease *lease);

// Starts the lifetime of the lease now. LIFETIME is in seconds; 0: unlimited.
void lease_start_lifetime(struct pool_lease *lease, int64_t lifetime);
void grant_mark(struct broker *broker, struct pool_lease *lease, bool with_ticket);

// Writes the holds to the database. The caller has begun a transaction.
enum outcome grant_insert_holds(struct broker *broker, const struct pool_lease *lease)
    __attribute__((warn_unused_result));

// Returns the details of the grant for the event log; the caller owns the reference.
json_t *grant_detail(const struct pool_lease *lease);

// Marks the GPUs as held in the pool. Must follow the commit.
void grant_take(struct broker *broker, struct pool_lease *lease);

#endif
