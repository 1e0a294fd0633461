// SPDX-License-Identifier: BSD-3-Clause
// Making a table as narrow as what it is shown on: long texts are shortened first, as far as they stay
// useful; then columns are left out.
#ifndef RGPU_ADMIN_CLI_TABLE_FIT_H
#define RGPU_ADMIN_CLI_TABLE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "admin-cli/table_column.h"

struct table_grid {
    const struct table_column *columns;
    size_t column_count, row_count;
    char **cells; // row by row; owned by the caller
    bool left_out[TABLE_COLUMNS_MAX];
};

// Shortens cells and leaves columns out until a line, with a space between columns, has at most `width`
// characters.
void table_fit(struct table_grid *grid, unsigned width);

// How many characters a text takes on a terminal, as far as each takes one place.
size_t text_width(const char *text);
// Shortens to at most `width` characters: with ".." in the middle, or where `at_end` at the end.
void text_shorten(char *text, size_t width, bool at_end);

#endif
