// SPDX-License-Identifier: BSD-3-Clause
// Which scheduler the keys with a prefix belong to. Two schedulers with the same prefix would each
// end the leases of the other as leases without a job. The event of a new owner is in the database,
// so that a restart of the broker gives the prefix to no other.
#ifndef RGPU_BROKER_SCHEDULER_NAMES_H
#define RGPU_BROKER_SCHEDULER_NAMES_H

#include "broker/leases/core.h"

// Loads the last owners, as if each had claimed its prefix just now.
void scheduler_names_load(struct broker *broker);

// Claims PREFIX for SCHEDULER and a minute. OUTCOME_NAME_TAKEN: it is another scheduler's, which
// *OWNER names, valid until the next claim. OUTCOME_TOO_FAST: there are too many already.
enum outcome scheduler_names_claim(struct broker *broker, const char *prefix, const char *scheduler,
                                   const char *actor, const char **owner)
    __attribute__((warn_unused_result));

#endif
