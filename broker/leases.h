// SPDX-License-Identifier: BSD-3-Clause
// The life of leases: acquire, end, renew. Without HTTP.
#ifndef RGPU_BROKER_LEASES_H
#define RGPU_BROKER_LEASES_H

#include "broker/core.h"

struct acquire {
    const char *key, *actor;
    const json_t *asked; // what else is asked for, see COLUMN_ASKED; may be NULL
    int64_t key_owner;
    uid_t owner;
    struct request request;
    int64_t lifetime; // seconds from the grant (and, while queued, from the request); 0: none
    bool wait, with_ticket;
    bool by_user; // who is neither administrator nor scheduler
};

// Grants, queues or refuses. A key that is known gives the lease it gave before.
// OUTCOME_BAD_REQUEST: what is asked for is no text or too long; OUTCOME_BUSY: not now;
// OUTCOME_IMPOSSIBLE; OUTCOME_KEY_REUSED; OUTCOME_QUEUE_FULL; OUTCOME_ENDED: the key's lease has ended already; else what
// befell the database.
enum outcome broker_acquire(struct broker *broker, const struct acquire *acquire,
                            struct pool_lease **lease) __attribute__((warn_unused_result));

// Starts the end of a lease; it is over when every box has confirmed. Ended ones are freed:
// *lease is NULL afterwards when that happened at once.
enum outcome broker_end_lease(struct broker *broker, struct pool_lease **lease, const char *reason,
                              const char *actor) __attribute__((warn_unused_result));

// Remembers that a key was released before it was acquired: the late acquire gets nothing.
enum outcome broker_release_unknown(struct broker *broker, int64_t key_owner, const char *key,
                                    uid_t owner, const char *actor)
    __attribute__((warn_unused_result));

enum outcome broker_renew(struct broker *broker, struct pool_lease *lease, int64_t lifetime,
                          const char *actor) __attribute__((warn_unused_result));

#define LIFETIME_MAX INT64_C(3153600000) // a hundred years, of a lease

#endif
