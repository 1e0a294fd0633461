// SPDX-License-Identifier: BSD-3-Clause
// The columns of tables.
#ifndef RGPU_ADMIN_CLI_TABLE_COLUMN_H
#define RGPU_ADMIN_CLI_TABLE_COLUMN_H

enum table_format {
    TABLE_TEXT,
    TABLE_SENTENCE, // text that is shortened at its end, names are in the middle
    TABLE_BYTES,    // 1.5G
    TABLE_SECONDS,  // 2h05m
    TABLE_DECIMAL,  // 12.3
    TABLE_NUMBER,   // 12; like the three above it "-" where it is not known
};

enum { TABLE_COLUMNS_MAX = 32 };

struct table_column {
    const char *title;
    const char *key; // of the object's member
    enum table_format format;
    // where not all fit, the columns of the least worth are left out, the last ones first
    unsigned worth;
};

#endif
