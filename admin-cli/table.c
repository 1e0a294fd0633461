// SPDX-License-Identifier: BSD-3-Clause
// Tables through libsmartcols, which knows the width of the terminal.
#include "admin-cli/table.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <string.h>

static void format_bytes(double bytes, char *text, size_t size)
{
    static const char units[] = "BKMGTP";
    unsigned unit = 0;

    while (bytes >= 1024 && unit < sizeof(units) - 2) {
        bytes /= 1024;
        unit++;
    }
    if (unit)
        snprintf(text, size, "%.1f%c", bytes, units[unit]);
    else
        snprintf(text, size, "%.0f", bytes);
}

static void format_seconds(double value, char *text, size_t size)
{
    long seconds = (long)value;

    if (seconds < 60)
        snprintf(text, size, "%lds", seconds);
    else if (seconds < 3600)
        snprintf(text, size, "%ldm%02lds", seconds / 60, seconds % 60);
    else
        snprintf(text, size, "%ldh%02ldm", seconds / 3600, seconds / 60 % 60);
}

static void format_list(const json_t *list, char *text, size_t size)
{
    size_t used = 0, i;
    json_t *item;

    text[0] = '\0';
    json_array_foreach(list, i, item)
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "",
                                     json_is_string(item) ? json_string_value(item) : "?");
}

void table_format_value(const json_t *value, enum table_format format, char *text, size_t size)
{
    if (json_is_number(value) && format == TABLE_BYTES)
        format_bytes(json_number_value(value), text, size);
    else if (json_is_number(value) && format == TABLE_SECONDS)
        format_seconds(json_number_value(value), text, size);
    else if (json_is_number(value) && format == TABLE_DECIMAL)
        snprintf(text, size, "%.1f", json_number_value(value));
    else if (json_is_number(value))
        snprintf(text, size, "%.0f", json_number_value(value));
    else if (json_is_boolean(value))
        snprintf(text, size, "%s", json_is_true(value) ? "yes" : "no");
    else if (json_is_array(value))
        format_list(value, text, size);
    else
        snprintf(text, size, "%s",
                 json_is_string(value) ? json_string_value(value)
                 : format              ? "-"
                                       : "");
}

static int fill(struct libscols_table *table, const struct table_column *columns,
                const json_t *rows)
{
    size_t r;
    json_t *row;

    for (const struct table_column *c = columns; c->title; c++)
        if (!scols_table_new_column(table, c->title, 0, c->format ? SCOLS_FL_RIGHT : 0))
            return -ENOMEM;
    json_array_foreach(rows, r, row) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        for (size_t i = 0; columns[i].title; i++) {
            char text[1024];
            table_format_value(json_object_get(row, columns[i].key), columns[i].format, text,
                               sizeof(text));
            if (!line || scols_line_set_data(line, i, text))
                return -ENOMEM;
        }
    }
    return 0;
}

int table_print(const struct table_column *columns, const json_t *rows)
{
    struct libscols_table *table = scols_new_table();

    if (!table)
        return -ENOMEM;
    int err = fill(table, columns, rows);
    if (!err)
        err = scols_print_table(table);
    scols_unref_table(table);
    return err;
}
