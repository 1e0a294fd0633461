// SPDX-License-Identifier: BSD-3-Clause
// The lists of the pool: where the broker has them, and their columns.
#ifndef RGPU_ADMIN_CLI_POOL_LIST_H
#define RGPU_ADMIN_CLI_POOL_LIST_H

#include "admin-cli/table.h"

enum pool_list { LIST_BOXES, LIST_GPUS, LIST_LEASES, LIST_SESSIONS, LISTS };

struct pool_list_row {
    const char *path, *member; // of the broker's answer
    const struct table_column *columns;
};
extern const struct pool_list_row pool_lists[LISTS];

// Adds what the columns show beside what the broker says: users by name, why something is drained or
// waits, where a lease is, ages.
void pool_list_complete(enum pool_list list, json_t *rows);

#endif
