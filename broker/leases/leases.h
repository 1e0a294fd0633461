// SPDX-License-Identifier: BSD-3-Clause
// Handles the life of leases: acquire, end, renew. Knows no HTTP.
#ifndef RGPU_BROKER_LEASES_H
#define RGPU_BROKER_LEASES_H

#include "broker/leases/core.h"

struct acquire {
    const char *key, *actor;
    const json_t *asked; // values of columns with role COLUMN_ASKED; may be NULL
    int64_t key_owner;
    uid_t owner;
    struct request request;
    int64_t lifetime; // seconds from the grant (and, while queued, from the request); 0: unlimited
    bool wait, with_ticket;
    bool by_user; // by a user without the administrator or scheduler role
};

// Grants, queues or refuses. A known key returns the lease that it returned before.
// OUTCOME_BAD_REQUEST: a value of `asked` is no text or too long; OUTCOME_BUSY: it could be granted
// later; OUTCOME_IMPOSSIBLE; OUTCOME_KEY_REUSED; OUTCOME_QUEUE_FULL; OUTCOME_ENDED: the key's lease
// has ended; else a failure of the database.
enum outcome broker_acquire(struct broker *broker, const struct acquire *acquire,
                            struct pool_lease **lease) __attribute__((warn_unused_result));

// Begins the end of a lease, which is complete when every box has confirmed. An ended lease is
// freed: *lease becomes NULL if that happened immediately.
enum outcome broker_end_lease(struct broker *broker, struct pool_lease **lease, const char *reason,
                              const char *actor) __attribute__((warn_unused_result));

// Records that a key was released before it was acquired: a later acquire gets nothing.
enum outcome broker_release_unknown(struct broker *broker, int64_t key_owner, const char *key,
                                    uid_t owner, const char *actor)
    __attribute__((warn_unused_result));

enum outcome broker_renew(struct broker *broker, struct pool_lease *lease, int64_t lifetime,
                          const char *actor) __attribute__((warn_unused_result));

#define LIFETIME_MAX INT64_C(3153600000) // longest lifetime of a lease: a hundred years

#endif
