// SPDX-License-Identifier: BSD-3-Clause
// Grants a lease, immediately or from the queue. The order is: holds from the plan, start of the
// lifetime, database, and then the GPUs in memory, which cannot fail.
#ifndef RGPU_BROKER_GRANT_H
#define RGPU_BROKER_GRANT_H

#include "broker/leases/core.h"
#include "broker/pool/plan.h"

// Sets the lease's holds from the plan. Returns OUTCOME_DONE or OUTCOME_NO_MEMORY.
enum outcome grant_set_holds(struct pool_lease *lease, const struct plan *plan)
    __attribute__((warn_unused_result));
void grant_drop_holds(struct pool_lease *lease);

// LIFETIME is in seconds from this moment; 0: unlimited.
void lease_start_lifetime(struct pool_lease *lease, int64_t lifetime);
void grant_mark(struct broker *broker, struct pool_lease *lease, bool with_ticket);

// Writes the holds to the database, inside a transaction.
enum outcome grant_insert_holds(struct broker *broker, const struct pool_lease *lease)
    __attribute__((warn_unused_result));

// Returns the detail of the event; the caller owns it.
json_t *grant_detail(const struct pool_lease *lease);

// Marks the GPUs as held, after the commit.
void grant_take(struct broker *broker, struct pool_lease *lease);

#endif
