// SPDX-License-Identifier: BSD-3-Clause
// JSON objects as a table for people.
#ifndef RGPU_ADMIN_CLI_TABLE_H
#define RGPU_ADMIN_CLI_TABLE_H

#include <jansson.h>

enum table_format {
    TABLE_TEXT,
    TABLE_BYTES,   // 1.5G
    TABLE_SECONDS, // 2h05m
    TABLE_DECIMAL, // 12.3
    TABLE_NUMBER,  // 12; like those above "-" where it is not known
};

struct table_column {
    const char *title;
    const char *key; // of the object's member
    enum table_format format;
};

// A value as the table shows it.
void table_format_value(const json_t *value, enum table_format format, char *text, size_t size);

// COLUMNS ends with a row without a title; ROWS is an array of objects. 0 or -errno.
int table_print(const struct table_column *columns, const json_t *rows)
    __attribute__((warn_unused_result));

#endif
