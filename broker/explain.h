// SPDX-License-Identifier: BSD-3-Clause
// Why a request is not served: what of it the pool lacks, or who and what stands before it.
#ifndef RGPU_BROKER_EXPLAIN_H
#define RGPU_BROKER_EXPLAIN_H

#include "broker/pool.h"

enum { EXPLAIN_MAX = 400 };

// A sentence for people, which looks at every GPU of the pool. `sequence` as for plan_make.
void explain_request(const struct pool *pool, const struct request *request, uint64_t sequence,
                     char text[EXPLAIN_MAX]);
// The same of a lease that waits; of any other nothing.
void explain_lease(const struct pool *pool, const struct pool_lease *lease, char text[EXPLAIN_MAX]);
// The same for thousands who ask again and again: what was found out for all of a kind within the last second, or
// before where many kinds wait in a large pool; nothing where it has not been found out.
void explain_waiting(const struct pool *pool, const struct pool_lease *lease,
                     char text[EXPLAIN_MAX]);

#endif
