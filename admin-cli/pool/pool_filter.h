// SPDX-License-Identifier: BSD-3-Clause
// Rows of all lists of the pool that have to do with a user, a box, a model or a state.
#ifndef RGPU_ADMIN_CLI_POOL_FILTER_H
#define RGPU_ADMIN_CLI_POOL_FILTER_H

#include <stdbool.h>

#include "admin-cli/pool/pool_list.h"

// Each NULL where it does not matter; box, model and state are patterns of the shell.
struct pool_filter {
    const char *user, *box, *model, *state;
};

// Returns the rows of each list that pass the filter, as new arrays. A box or GPU belongs to a user
// while one of the user's leases holds it. A box has the models of all its GPUs. A session passes
// by the state of its lease.
void pool_filter(const struct pool_filter *filter, json_t *const rows[LISTS],
                 json_t *passed[LISTS]);

#endif
