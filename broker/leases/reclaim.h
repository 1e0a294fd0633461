// SPDX-License-Identifier: BSD-3-Clause
// A lease that a box reclaims with a sealed ticket, and its adoption. For adoption.c, which judges
// it.
#ifndef RGPU_BROKER_RECLAIM_H
#define RGPU_BROKER_RECLAIM_H

#include "broker/leases/core.h"

struct reclaim {
    struct broker *broker;
    struct pool_box *box;
    const json_t *report; // of the box
    const char *actor;
    struct ticket ticket;
    json_t *terms;
    struct pool_lease *lease; // known lease of this id, or NULL
    bool runs;                // the box has sessions of the lease
    bool suspended, idle;     // their memory is off the GPUs; because they were idle
    char why[300];            // reason for a refusal
};

// Return a member of the terms (adoption_terms), or 0 or "".
int64_t reclaim_number(const struct reclaim *reclaim, const char *name);
const char *reclaim_text(const struct reclaim *reclaim, const char *name);

bool reclaim_has_ordinal(const struct pool_lease *lease, uint32_t ordinal);
// Returns the hold on GPU number I of the ticket, or on the GPU to which the lease was moved. Its
// `gpu` is NULL if the broker does not know the GPU.
struct pool_hold reclaim_hold(const struct reclaim *reclaim, size_t i,
                              const struct request *request);

// Adopts a lease that the database does not have.
enum outcome reclaim_adopt_new(struct reclaim *reclaim, const struct request *request)
    __attribute__((warn_unused_result));
// Adopts a lease that the database has as one that waits, or with the GPUs of other boxes only.
enum outcome reclaim_adopt_known(struct reclaim *reclaim) __attribute__((warn_unused_result));

#endif
