// SPDX-License-Identifier: BSD-3-Clause
// Selects rows of the pool's lists (pool_list.h) by user, box, GPU model or state.
#ifndef RGPU_ADMIN_CLI_POOL_FILTER_H
#define RGPU_ADMIN_CLI_POOL_FILTER_H

#include <stdbool.h>

#include "admin-cli/pool/pool_list.h"

// NULL matches all; box, model and state are globs.
struct pool_filter {
    const char *user, *box, *model, *state;
};

// Sets PASSED[i] to a new array of the matching rows of ROWS[i]; the caller owns the references. A
// box or GPU matches a user if one of the user's leases holds it. A box has the models of all its
// GPUs. A session has the state of its lease.
void pool_filter(const struct pool_filter *filter, json_t *const rows[LISTS],
                 json_t *passed[LISTS]);

#endif
