// SPDX-License-Identifier: BSD-3-Clause
// Lists of the pool: their API paths and columns.
#ifndef RGPU_ADMIN_CLI_POOL_LIST_H
#define RGPU_ADMIN_CLI_POOL_LIST_H

#include "admin-cli/output/table.h"

enum pool_list { LIST_BOXES, LIST_GPUS, LIST_LEASES, LIST_SESSIONS, LISTS };

struct pool_list_row {
    const char *path, *member; // API path, and member of the answer with the list
    const struct table_column *columns;
};
extern const struct pool_list_row pool_lists[LISTS];

// Adds values that the API does not return: names of users, reasons of drains and waits, locations
// of leases, ages.
void pool_list_complete(enum pool_list list, json_t *rows);

#endif
