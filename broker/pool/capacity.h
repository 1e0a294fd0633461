// SPDX-License-Identifier: BSD-3-Clause
// Computes the free capacity for a scheduler that keeps its own accounts: free GPUs and memory, how
// often given requests can be granted, and the GPUs of the scheduler's leases. All figures are of
// one instant.
#ifndef RGPU_BROKER_CAPACITY_H
#define RGPU_BROKER_CAPACITY_H

#include <jansson.h>

#include "broker/pool/pool.h"

struct capacity_query {
    const char *key_prefix; // prefix of the keys of the leases to list
    const json_t *requests; // list of requests, each as in an acquire
    uint32_t limit;         // maximum count for one request
    const json_t *request;  // request for which leases would have to end, or NULL
    const json_t *keys;     // keys of leases that may end for `request`, in order of preference
    // GPUs that waiting requests of lower sequence can use do not count as free
    uint64_t sequence;
};

// Returns the answer, or NULL and a sentence in *WHY if the query is invalid.
json_t *capacity_view(struct pool *pool, const struct capacity_query *query, const char **why);

#endif
