// SPDX-License-Identifier: BSD-3-Clause
// Makes a table fit the width of its output: shortens long texts first, as far as they stay useful,
// and then leaves out columns.
#ifndef RGPU_ADMIN_CLI_TABLE_FIT_H
#define RGPU_ADMIN_CLI_TABLE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "admin-cli/output/table_column.h"

struct table_grid {
    const struct table_column *columns;
    size_t column_count, row_count;
    char **cells; // row by row; owned by the caller
    bool left_out[TABLE_COLUMNS_MAX];
};

// Shortens cells and leaves columns out until a line, with a space between columns, has at most
// `width` characters.
void table_fit(struct table_grid *grid, unsigned width);

// Returns the width of a text on a terminal if each character takes one place.
size_t text_width(const char *text);
// Shortens to at most `width` characters: with ".." in the middle, or where `at_end` at the end.
void text_shorten(char *text, size_t width, bool at_end);

#endif
