// SPDX-License-Identifier: BSD-3-Clause
// Explains why a request is not granted: GPUs are missing, or other requests and conditions block
// it.
#ifndef RGPU_BROKER_EXPLAIN_H
#define RGPU_BROKER_EXPLAIN_H

#include "broker/pool/pool.h"

enum { EXPLAIN_MAX = 400 };

// Writes one English sentence. Examines every GPU of the pool. SEQUENCE as for plan_make.
void explain_request(const struct pool *pool, const struct request *request, uint64_t sequence,
                     char text[EXPLAIN_MAX]);
// The same for a request that could not be granted if every known GPU were free and in service.
void explain_impossible(const struct pool *pool, const struct request *request,
                        char text[EXPLAIN_MAX]);
// Explains a waiting lease; writes an empty text for any other.
void explain_lease(const struct pool *pool, const struct pool_lease *lease, char text[EXPLAIN_MAX]);
// As explain_lease, from a cache, for frequent callers. The cache has one reason for each class of
// requests (queue.h); it is one second old, or older if a large pool has many classes. Writes "" if
// the reason is not cached and computing it would take too long.
void explain_waiting(const struct pool *pool, const struct pool_lease *lease,
                     char text[EXPLAIN_MAX]);

#endif
