// SPDX-License-Identifier: BSD-3-Clause
// Columns of tables.
#ifndef RGPU_ADMIN_CLI_TABLE_COLUMN_H
#define RGPU_ADMIN_CLI_TABLE_COLUMN_H

enum table_format {
    TABLE_TEXT,
    TABLE_SENTENCE, // shortened at its end; TABLE_TEXT is shortened in the middle
    TABLE_BYTES,    // such as 1.5G
    TABLE_SECONDS,  // such as 2h05m
    TABLE_DECIMAL,  // such as 12.3
    TABLE_NUMBER,   // such as 12; like the three above "-" if unknown
};

enum { TABLE_COLUMNS_MAX = 32 };

struct table_column {
    const char *title;
    const char *key; // name of the object's member
    enum table_format format;
    // If not all columns fit, those of the lowest worth are left out, the last ones first.
    unsigned worth;
};

#endif
