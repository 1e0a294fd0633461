// SPDX-License-Identifier: BSD-3-Clause
// The user's choice for a list: its columns, its rows, and their order.
#ifndef RGPU_ADMIN_CLI_TABLE_WISH_H
#define RGPU_ADMIN_CLI_TABLE_WISH_H

#include "admin-cli/output/table.h"

struct table_wish {
    const char *format; // titles with commas between, in any case; NULL: all columns
    const char *sort;   // a title, with '-' in front for the largest first; NULL: as they come
    const char *only;   // TITLE=GLOB[,TITLE=GLOB...] that rows must match; NULL: all
};

#define TABLE_WISH_OPTIONS \
    {"format", "COLUMN,...", "these columns in this order", 0}, \
        {"sort", "COLUMN", "by this column; with - in front the largest first", 0}, \
        {"only", "COLUMN=GLOB,...", "rows whose columns are so", 0}, \
    { \
        "width", "N", "characters in a line; 0: as many as it takes [the terminal's]", 0, \
            "0..10000" \
    }

// Selects and sorts the wanted rows of ROWS into a new array *out, and stores the wanted columns in
// SHOWN. ROWS does not change. -EINVAL after printing the word that names no column.
int table_wish(const struct table_wish *wish, const struct table_column *columns,
               const json_t *rows, struct table_column shown[TABLE_COLUMNS_MAX], json_t **out)
    __attribute__((warn_unused_result));

#endif
