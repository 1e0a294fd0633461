// SPDX-License-Identifier: BSD-3-Clause
// Computes the free capacity for a scheduler that keeps its own accounts: free GPUs and memory, how
// often given requests can be granted, and the GPUs of the scheduler's leases. All figures are of
// one instant.
#ifndef RGPU_BROKER_CAPACITY_H
#define RGPU_BROKER_CAPACITY_H

#include <jansson.h>

#include "broker/pool/pool.h"

struct capacity_query {
    const char *key_prefix; // selects the leases to list
    const json_t *requests; // as in an acquire
    uint32_t limit;         // highest count for one request
    const json_t *request;  // a request to make room for, or NULL
    const json_t *keys;     // leases that may be ended for it, in order of preference
    const json_t *holders;  // see docs/reference/broker-api.md, as the next three
    const json_t *lenders, *waiting, *next;
    uint64_t sequence; // GPUs that earlier waiting requests could use are not free
};

// Returns the answer, or NULL and a sentence in *WHY if the query is invalid. Memory is missing if
// *WHY is NULL as well.
json_t *capacity_view(struct pool *pool, const struct capacity_query *query, const char **why);

#endif
