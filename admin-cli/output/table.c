// SPDX-License-Identifier: BSD-3-Clause
// Prints tables with libsmartcols.
#include "admin-cli/output/table.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "admin-cli/output/colour.h"
#include "admin-cli/output/table_fit.h"

static void table_format_bytes(double bytes, char *text, size_t size)
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

const char *table_text(const json_t *row, const char *member)
{
    const char *text = json_string_value(json_object_get(row, member));

    return text ? text : "";
}

void table_format_value(const json_t *value, enum table_format format, char *text, size_t size)
{
    if (json_is_number(value) && format == TABLE_BYTES)
        table_format_bytes(json_number_value(value), text, size);
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
                 json_is_string(value)     ? json_string_value(value)
                 : format > TABLE_SENTENCE ? "-"
                                           : "");
}

static void table_print_field(const char *text)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;

    if (quoted)
        putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    if (quoted)
        putchar('"');
}

// Numbers are whole, without units.
static void table_print_value(const json_t *value)
{
    char text[1024];

    if (json_is_integer(value))
        printf("%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        printf("%.10g", json_real_value(value));
    else {
        table_format_value(value, TABLE_TEXT, text, sizeof(text));
        table_print_field(text);
    }
}

void table_print_csv(const struct table_column *columns, const json_t *rows)
{
    json_t *row;
    size_t r;

    for (const struct table_column *c = columns; c->title; c++) {
        printf("%s", c == columns ? "" : ",");
        table_print_field(c->title);
    }
    printf("\r\n");
    json_array_foreach(rows, r, row) {
        for (const struct table_column *c = columns; c->title; c++) {
            printf("%s", c == columns ? "" : ",");
            table_print_value(json_object_get(row, c->key));
        }
        printf("\r\n");
    }
}

struct table_space table_space(const char *width)
{
    struct table_space space = {.out = stdout};
    struct winsize size;

    if (width)
        space.width = (unsigned)strtoul(width, NULL, 10);
    else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        space.width = size.ws_col;
    return space;
}

static int fill_grid(struct table_grid *grid, const json_t *rows)
{
    size_t r;
    json_t *row;

    grid->cells = calloc(grid->row_count * grid->column_count + 1, sizeof(*grid->cells));
    if (!grid->cells)
        return -ENOMEM;
    json_array_foreach(rows, r, row) {
        if (r == grid->row_count)
            break;
        for (size_t i = 0; i < grid->column_count; i++) {
            char text[1024];
            char **cell = &grid->cells[r * grid->column_count + i];
            table_format_value(json_object_get(row, grid->columns[i].key), grid->columns[i].format,
                               text, sizeof(text));
            *cell = strdup(text);
            if (!*cell)
                return -ENOMEM;
        }
    }
    return 0;
}

static void clear_grid(struct table_grid *grid)
{
    for (size_t i = 0; grid->cells && i < grid->row_count * grid->column_count; i++)
        free(grid->cells[i]);
    free(grid->cells);
}

// States have colours, and names of jobs have none.
static void table_paint(struct libscols_line *line, size_t place, const char *key, const char *text)
{
    static const char *const keys[] = {"state", "health", "status", "broker", "suspension"};
    struct libscols_cell *cell = scols_line_get_cell(line, place);
    const char *colour = NULL;

    for (size_t i = 0; !colour && i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!strcmp(key, keys[i]))
            colour = colour_of(text);
    if (cell && colour)
        scols_cell_set_color(cell, colour);
}

static int table_fill(struct libscols_table *table, const struct table_grid *grid)
{
    for (size_t i = 0; i < grid->column_count; i++)
        if (!grid->left_out[i] &&
            !scols_table_new_column(table, grid->columns[i].title, 0,
                                    grid->columns[i].format > TABLE_SENTENCE ? SCOLS_FL_RIGHT : 0))
            return -ENOMEM;
    for (size_t r = 0; r < grid->row_count; r++) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        size_t place = 0;
        for (size_t i = 0; i < grid->column_count; i++) {
            const char *cell = grid->cells[r * grid->column_count + i];
            if (grid->left_out[i])
                continue;
            if (!line || scols_line_set_data(line, place, cell))
                return -ENOMEM;
            table_paint(line, place++, grid->columns[i].key, cell);
        }
    }
    return 0;
}

int table_print(const struct table_column *columns, const json_t *rows,
                const struct table_space *space)
{
    struct libscols_table *table = scols_new_table();
    struct table_grid grid = {.columns = columns, .row_count = json_array_size(rows)};
    int err;

    if (!table)
        return -ENOMEM;
    while (columns[grid.column_count].title)
        grid.column_count++;
    if (space->rows && space->rows < grid.row_count)
        grid.row_count = space->rows;
    err = fill_grid(&grid, rows);
    if (!err && space->width)
        table_fit(&grid, space->width);
    if (!err)
        err = table_fill(table, &grid);
    // It fits, and where it does not the library would make other columns narrow than we have.
    scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
    scols_table_set_stream(table, space->out);
    scols_table_enable_colors(table, 1);
    if (!err)
        err = scols_print_table(table);
    clear_grid(&grid);
    scols_unref_table(table);
    return err;
}
