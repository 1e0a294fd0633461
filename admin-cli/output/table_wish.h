// SPDX-License-Identifier: BSD-3-Clause
// The user's selection and order of a table's columns and rows.
#ifndef RGPU_ADMIN_CLI_TABLE_WISH_H
#define RGPU_ADMIN_CLI_TABLE_WISH_H

#include "admin-cli/output/table.h"

struct table_wish {
    const char *format; // titles separated by commas, ignoring case; NULL: all columns
    const char *sort;   // a title, with a prefix '-' for descending order; NULL: unsorted
    const char *only;   // TITLE=GLOB[,TITLE=GLOB...], which rows must match; NULL: all rows
};

#define TABLE_WISH_OPTIONS \
    {"format", "COLUMN,...", "these columns in this order", 0}, \
        {"sort", "COLUMN", "by this column; with - in front the largest first", 0}, \
        {"only", "COLUMN=GLOB,...", "rows whose columns are so", 0}, \
        {"csv", NULL, "comma-separated values, with unabridged numbers", 0}, \
    { \
        "width", "N", "characters in a line; 0: as many as it takes [the terminal's]", 0, \
            "0..10000" \
    }

// Sets *OUT to a new array of the selected rows in order, and SHOWN to the selected columns.
// Returns 0, or -EINVAL after it has printed the unknown column.
int table_wish(const struct table_wish *wish, const struct table_column *columns,
               const json_t *rows, struct table_column shown[TABLE_COLUMNS_MAX], json_t **out)
    __attribute__((warn_unused_result));

#endif
