// SPDX-License-Identifier: BSD-3-Clause
// Life of leases: acquire, renew, end. Independent of HTTP.
#ifndef RGPU_BROKER_LEASES_H
#define RGPU_BROKER_LEASES_H

#include "broker/leases/core.h"

struct acquire {
    const char *key, *actor;
    const json_t *asked; // object with values of the columns with role COLUMN_ASKED, or NULL
    int64_t key_owner;
    uid_t owner;
    struct request request;
    // seconds from the grant, and for a queued lease also from the request; 0: unlimited
    int64_t lifetime;
    bool wait, with_ticket;
    bool by_user; // the sender is neither administrator nor scheduler
};

// Grants, queues or refuses a request. A request with a known key returns the lease of the earlier
// request. OUTCOME_BAD_REQUEST: a value of `asked` is not a string or too long; OUTCOME_BUSY: the
// request can be granted later; OUTCOME_IMPOSSIBLE: the pool can never serve it;
// OUTCOME_KEY_REUSED: another request has used the key; OUTCOME_QUEUE_FULL; OUTCOME_ENDED: the
// key's lease has ended; otherwise an error of the database.
enum outcome broker_acquire(struct broker *broker, const struct acquire *acquire,
                            struct pool_lease **lease) __attribute__((warn_unused_result));

// Begins the end of a lease, which is complete when every box has confirmed it. If no box has to
// confirm, the lease is freed and *LEASE becomes NULL.
enum outcome broker_end_lease(struct broker *broker, struct pool_lease **lease, const char *reason,
                              const char *actor) __attribute__((warn_unused_result));

// Records the release of a key that no acquire has used yet. A later acquire with this key is
// refused.
enum outcome broker_release_unknown(struct broker *broker, int64_t key_owner, const char *key,
                                    uid_t owner, const char *actor)
    __attribute__((warn_unused_result));

// Starts a new lifetime of LIFETIME seconds now. Returns OUTCOME_ENDED if the lease is ending.
enum outcome broker_renew(struct broker *broker, struct pool_lease *lease, int64_t lifetime,
                          const char *actor) __attribute__((warn_unused_result));

#define LIFETIME_MAX INT64_C(3153600000) // maximum lifetime of a lease: a hundred years in seconds

#endif
