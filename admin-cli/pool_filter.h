// SPDX-License-Identifier: BSD-3-Clause
// Rows of all lists of the pool that have to do with a user, a box, a model or a state.
#ifndef RGPU_ADMIN_CLI_POOL_FILTER_H
#define RGPU_ADMIN_CLI_POOL_FILTER_H

#include <stdbool.h>

#include "admin-cli/pool_list.h"

// Each NULL where it does not matter; box, model and state are patterns of the shell.
struct pool_filter {
    const char *user, *box, *model, *state;
};

// The rows of each list that pass, as new arrays. A box or GPU is a user's while a lease of his holds it; a box is
// of a model while one of its GPUs is; sessions have no state and pass by their lease's.
void pool_filter(const struct pool_filter *filter, json_t *const rows[LISTS],
                 json_t *passed[LISTS]);

#endif
