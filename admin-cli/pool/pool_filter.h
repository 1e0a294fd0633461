// SPDX-License-Identifier: BSD-3-Clause
// Selects the rows of the pool's lists (pool_list.h) that belong to a user, box, GPU model or
// state.
#ifndef RGPU_ADMIN_CLI_POOL_FILTER_H
#define RGPU_ADMIN_CLI_POOL_FILTER_H

#include <stdbool.h>

#include "admin-cli/pool/pool_list.h"

// NULL accepts everything; box, model and state are shell patterns.
struct pool_filter {
    const char *user, *box, *model, *state;
};

// Sets PASSED[i] to a new JSON array of the rows of ROWS[i] that match; the caller releases it. A
// box or GPU belongs to a user while one of the user's leases holds it. A box has the models of all
// its GPUs. A session passes by the state of its lease.
void pool_filter(const struct pool_filter *filter, json_t *const rows[LISTS],
                 json_t *passed[LISTS]);

#endif
