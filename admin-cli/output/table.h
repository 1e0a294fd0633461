// SPDX-License-Identifier: BSD-3-Clause
// JSON objects as a table for people, which fits the width that there is.
#ifndef RGPU_ADMIN_CLI_TABLE_H
#define RGPU_ADMIN_CLI_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "admin-cli/output/table_column.h"

// The room for a table.
struct table_space {
    FILE *out;
    unsigned width; // characters in a line; 0: as many as it takes
    size_t rows;    // rows that are printed; 0: all
};

// Returns the space on standard output, of the terminal's width or, if WIDTH is not NULL, of the
// width that the option --width sets.
struct table_space table_space(const char *width);

// Returns the text of a member of a row, "" if there is no such member or it is no text.
const char *table_text(const json_t *row, const char *member);
// Formats a value as the table shows it.
void table_format_value(const json_t *value, enum table_format format, char *text, size_t size);

// COLUMNS ends with a row without a title; ROWS is an array of objects. 0 or -errno.
int table_print(const struct table_column *columns, const json_t *rows,
                const struct table_space *space) __attribute__((warn_unused_result));

#endif
