// SPDX-License-Identifier: BSD-3-Clause
// What could be granted just now, for a scheduler that counts in its own way: how many GPUs and how
// much memory are free, how often certain requests fit, and what its own leases hold, all at one
// instant.
#ifndef RGPU_BROKER_CAPACITY_H
#define RGPU_BROKER_CAPACITY_H

#include <jansson.h>

#include "broker/pool.h"

struct capacity_query {
    const char *key_prefix; // of the leases to list
    const json_t *requests; // as in an acquire
    uint32_t limit;         // no request is counted further
    const json_t *request;  // one to be made room for, or NULL,
    const json_t *keys;     // by ending some of these leases, the first rather than the last
    uint64_t sequence;      // GPUs that those who wait longer could use are not free
};

// NULL: *why says what is wrong with the query.
json_t *capacity_view(struct pool *pool, const struct capacity_query *query, const char **why);

#endif
