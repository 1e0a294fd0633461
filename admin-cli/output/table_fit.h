// SPDX-License-Identifier: BSD-3-Clause
// Fits a table to a width: first shortens long texts, as far as they stay useful, then removes
// columns.
#ifndef RGPU_ADMIN_CLI_TABLE_FIT_H
#define RGPU_ADMIN_CLI_TABLE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "admin-cli/output/table_column.h"

struct table_grid {
    const struct table_column *columns;
    size_t column_count, row_count;
    char **cells; // row by row; owned by the caller, who frees the strings
    bool left_out[TABLE_COLUMNS_MAX];
};

// Shortens cells and sets left_out until a line, with a space between columns, has at most `width`
// characters.
void table_fit(struct table_grid *grid, unsigned width);

// Shortens to `width` characters, with ".." in the middle, or at the end if `at_end` is set.
void text_shorten(char *text, size_t width, bool at_end);

#endif
