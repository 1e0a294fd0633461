// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/output/table_fit.h"

#include <string.h>

// Minimum length of a shortened text.
enum { NAME_LEAST = 9, SENTENCE_LEAST = 14, NARROW = 40 };

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

// Returns the number of characters of a UTF-8 text.
static size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += begins_character(*text);
    return width;
}

// Returns the start of the character of this number.
static char *character_at(char *text, size_t number)
{
    for (; *text; text++)
        if (begins_character(*text) && number-- == 0)
            break;
    return text;
}

void text_shorten(char *text, size_t width, bool at_end)
{
    size_t all = text_width(text), dots = width > 3 ? 2 : 0, kept = width - dots;
    size_t tail = at_end || !dots ? 0 : kept / 2;
    char *cut, *rest;

    if (all <= width)
        return;
    cut = character_at(text, kept - tail);
    rest = character_at(text, all - tail);
    memmove(cut + dots, rest, strlen(rest) + 1);
    memcpy(cut, "..", dots);
}

// ---- the widths of columns ----

static bool is_text(const struct table_grid *grid, size_t column)
{
    return grid->columns[column].format == TABLE_TEXT ||
           grid->columns[column].format == TABLE_SENTENCE;
}

static size_t widest(const struct table_grid *grid, size_t column)
{
    size_t width = text_width(grid->columns[column].title);

    for (size_t row = 0; row < grid->row_count; row++) {
        size_t cell = text_width(grid->cells[row * grid->column_count + column]);
        if (cell > width)
            width = cell;
    }
    return width;
}

// On a narrow screen names are cut shorter before another column goes.
static size_t table_fit_least(const struct table_grid *grid, size_t column, size_t natural,
                              unsigned width)
{
    size_t least = grid->columns[column].format == TABLE_SENTENCE ? SENTENCE_LEAST : NAME_LEAST;
    size_t title = text_width(grid->columns[column].title);

    if (!is_text(grid, column))
        return natural;
    if (width <= NARROW)
        least = least * 3 / 4;
    if (least < title)
        least = title;
    return least < natural ? least : natural;
}

static size_t sum(const struct table_grid *grid, const size_t *widths)
{
    size_t total = 0;

    for (size_t i = 0; i < grid->column_count; i++)
        if (!grid->left_out[i])
            total += widths[i] + (total > 0);
    return total;
}

// The column of the least worth, the last of them; one always stays.
static bool leave_one_out(struct table_grid *grid)
{
    size_t chosen = 0, count = 0;

    for (size_t i = 0; i < grid->column_count; i++) {
        if (grid->left_out[i])
            continue;
        if (count++ == 0 || grid->columns[i].worth <= grid->columns[chosen].worth)
            chosen = i;
    }
    if (count > 1)
        grid->left_out[chosen] = true;
    return count > 1;
}

// The widest column above its least gives one character.
static bool narrow_one(const struct table_grid *grid, size_t *widths, const size_t *leasts)
{
    size_t chosen = grid->column_count;

    for (size_t i = 0; i < grid->column_count; i++)
        if (!grid->left_out[i] && widths[i] > leasts[i] &&
            (chosen == grid->column_count || widths[i] > widths[chosen]))
            chosen = i;
    if (chosen < grid->column_count)
        widths[chosen]--;
    return chosen < grid->column_count;
}

void table_fit(struct table_grid *grid, unsigned width)
{
    size_t widths[TABLE_COLUMNS_MAX], leasts[TABLE_COLUMNS_MAX];

    for (size_t i = 0; i < grid->column_count; i++) {
        widths[i] = widest(grid, i);
        leasts[i] = table_fit_least(grid, i, widths[i], width);
    }
    while (sum(grid, leasts) > width && leave_one_out(grid)) {
    }
    while (sum(grid, widths) > width && narrow_one(grid, widths, leasts)) {
    }
    for (size_t i = 0; i < grid->column_count; i++) {
        if (sum(grid, widths) > width && !grid->left_out[i])
            widths[i] = width; // it is the only one
        for (size_t row = 0; row < grid->row_count; row++)
            text_shorten(grid->cells[row * grid->column_count + i], widths[i],
                         grid->columns[i].format == TABLE_SENTENCE);
    }
}
