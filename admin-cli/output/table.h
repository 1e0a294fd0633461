// SPDX-License-Identifier: BSD-3-Clause
// Prints JSON objects as a table that fits the width of the terminal.
#ifndef RGPU_ADMIN_CLI_TABLE_H
#define RGPU_ADMIN_CLI_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "admin-cli/output/table_column.h"

// Destination of a table.
struct table_space {
    FILE *out;
    unsigned width; // characters in a line; 0: unlimited
    size_t rows;    // maximum number of rows; 0: all
};

// Returns a destination for standard output, with the width of option --width, or the terminal's if
// WIDTH is NULL.
struct table_space table_space(const char *width);

// Returns a string member of ROW; "" if it is missing or not a string. Valid as long as ROW.
const char *table_text(const json_t *row, const char *member);
// Formats a value as the table shows it.
void table_format_value(const json_t *value, enum table_format format, char *text, size_t size);

// Prints ROWS, an array of objects. COLUMNS ends with a row whose title is NULL. Returns 0 or
// -errno.
int table_print(const struct table_column *columns, const json_t *rows,
                const struct table_space *space) __attribute__((warn_unused_result));
// Prints ROWS to standard output as RFC 4180 has it, with a line of titles.
void table_print_csv(const struct table_column *columns, const json_t *rows);

#endif
