// SPDX-License-Identifier: BSD-3-Clause
// Explains why a request is not served: the GPUs that the pool lacks, or the requests and
// conditions that block it.
#ifndef RGPU_BROKER_EXPLAIN_H
#define RGPU_BROKER_EXPLAIN_H

#include "broker/pool/pool.h"

enum { EXPLAIN_MAX = 400 };

// Writes a sentence for people. Examines every GPU of the pool. `sequence` as for plan_make.
void explain_request(const struct pool *pool, const struct request *request, uint64_t sequence,
                     char text[EXPLAIN_MAX]);
// The same for a request that could not be granted if every known GPU were free and in service.
void explain_impossible(const struct pool *pool, const struct request *request,
                        char text[EXPLAIN_MAX]);
// Explains a waiting lease; writes an empty text for any other.
void explain_lease(const struct pool *pool, const struct pool_lease *lease, char text[EXPLAIN_MAX]);
// Explains a waiting lease from a cache, for frequent callers. The cache holds one reason per
// class, at most a second old, or older if many classes wait in a large pool. Writes an empty text
// if the reason is not cached and cannot be computed.
void explain_waiting(const struct pool *pool, const struct pool_lease *lease,
                     char text[EXPLAIN_MAX]);

#endif
