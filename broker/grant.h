// SPDX-License-Identifier: BSD-3-Clause
// What it takes to grant a lease, at once or from the queue. The order is: the holds that a plan gives, the time from
// which it runs, the database, and then the GPUs in memory, which cannot fail any more.
#ifndef RGPU_BROKER_GRANT_H
#define RGPU_BROKER_GRANT_H

#include "broker/core.h"
#include "broker/plan.h"

// What the plan gives becomes the lease's; OUTCOME_NO_MEMORY.
enum outcome grant_set_holds(struct pool_lease *lease, const struct plan *plan)
    __attribute__((warn_unused_result));
void grant_drop_holds(struct pool_lease *lease);

// LIFETIME is seconds from now; 0: for ever.
void lease_start_lifetime(struct pool_lease *lease, int64_t lifetime);
void grant_mark(struct broker *broker, struct pool_lease *lease, bool with_ticket);

// Inside a transaction.
enum outcome grant_insert_holds(struct broker *broker, const struct pool_lease *lease)
    __attribute__((warn_unused_result));

// What the event says; the caller's.
json_t *grant_detail(const struct pool_lease *lease);

// After the commit.
void grant_take(struct broker *broker, struct pool_lease *lease);

#endif
