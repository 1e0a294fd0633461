// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/output/table_wish.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// The column that the first SIZE characters of WORD name, or NULL after saying that there is none.
static const struct table_column *find_column(const struct table_column *columns, const char *word,
                                              size_t size)
{
    for (const struct table_column *c = columns; c->title; c++)
        if (strlen(c->title) == size && !strncasecmp(c->title, word, size))
            return c;
    fprintf(stderr, "rgpuctl: no column %.*s; there are", (int)size, word);
    for (const struct table_column *c = columns; c->title; c++)
        fprintf(stderr, "%s %s", c == columns ? "" : ",", c->title);
    fputc('\n', stderr);
    return NULL;
}

static int choose_columns(const char *format, const struct table_column *columns,
                          struct table_column shown[TABLE_COLUMNS_MAX])
{
    size_t count = 0;

    if (!format) {
        for (; columns[count].title && count < TABLE_COLUMNS_MAX - 1; count++)
            shown[count] = columns[count];
        shown[count] = (struct table_column){0};
        return 0;
    }
    while (*format) {
        size_t size = strcspn(format, ",");
        const struct table_column *column = find_column(columns, format, size);

        if (!column || count == TABLE_COLUMNS_MAX - 1)
            return -EINVAL;
        shown[count++] = *column;
        format += size + (format[size] == ',');
    }
    shown[count] = (struct table_column){0};
    return 0;
}

struct row_filter {
    const struct table_column *column;
    char glob[128];
};

static int read_conditions(const char *text, const struct table_column *columns,
                           struct row_filter conditions[TABLE_COLUMNS_MAX], size_t *count)
{
    while (text && *text) {
        size_t name = strcspn(text, "=,"), size = strcspn(text, ",");
        struct row_filter *condition = &conditions[*count];

        if (text[name] != '=' || *count == TABLE_COLUMNS_MAX) {
            fprintf(stderr, "rgpuctl: --only is COLUMN=GLOB, with commas between\n");
            return -EINVAL;
        }
        condition->column = find_column(columns, text, name);
        if (!condition->column)
            return -EINVAL;
        snprintf(condition->glob, sizeof(condition->glob), "%.*s", (int)(size - name - 1),
                 text + name + 1);
        (*count)++;
        text += size + (text[size] == ',');
    }
    return 0;
}

static bool matches(const json_t *row, const struct row_filter *conditions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[1024];

        table_format_value(json_object_get(row, conditions[i].column->key),
                           conditions[i].column->format, text, sizeof(text));
        if (fnmatch(conditions[i].glob, text, FNM_CASEFOLD))
            return false;
    }
    return true;
}

// ---- order ----

struct sorted {
    json_t *row;
    const char *key;
    bool falling;
    size_t place; // rows that are equal stay as they came
};

static int compare_values(const json_t *a, const json_t *b)
{
    double left, right;

    if (json_is_string(a) && json_is_string(b))
        return strverscmp(json_string_value(a), json_string_value(b));
    left = json_is_number(a) ? json_number_value(a) : json_is_true(a);
    right = json_is_number(b) ? json_number_value(b) : json_is_true(b);
    return left < right ? -1 : left > right;
}

static int compare_rows(const void *a, const void *b)
{
    const struct sorted *left = a, *right = b;
    int order = compare_values(json_object_get(left->row, left->key),
                               json_object_get(right->row, right->key));

    if (left->falling)
        order = -order;
    return order ? order : left->place < right->place ? -1 : 1;
}

static int sort_rows(const char *sort, const struct table_column *columns, json_t *rows)
{
    bool falling = sort && *sort == '-';
    const struct table_column *column =
        sort ? find_column(columns, sort + falling, strlen(sort + falling)) : NULL;
    size_t count = json_array_size(rows), i;
    struct sorted *sorted;
    json_t *row;

    if (!column)
        return sort ? -EINVAL : 0;
    sorted = calloc(count + 1, sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    json_array_foreach(rows, i, row)
        sorted[i] = (struct sorted){json_incref(row), column->key, falling, i};
    qsort(sorted, count, sizeof(*sorted), compare_rows);
    json_array_clear(rows);
    for (i = 0; i < count; i++)
        json_array_append_new(rows, sorted[i].row);
    free(sorted);
    return 0;
}

int table_wish(const struct table_wish *wish, const struct table_column *columns,
               const json_t *rows, struct table_column shown[TABLE_COLUMNS_MAX], json_t **out)
{
    struct row_filter conditions[TABLE_COLUMNS_MAX];
    json_t *chosen = json_array(), *row;
    size_t count = 0, i;
    int err = chosen ? choose_columns(wish->format, columns, shown) : -ENOMEM;

    if (!err)
        err = read_conditions(wish->only, columns, conditions, &count);
    json_array_foreach(rows, i, row)
        if (!err && matches(row, conditions, count) && json_array_append(chosen, row))
            err = -ENOMEM;
    if (!err)
        err = sort_rows(wish->sort, columns, chosen);
    if (err)
        json_decref(chosen);
    else
        *out = chosen;
    return err;
}
