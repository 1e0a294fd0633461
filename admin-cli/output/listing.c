// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/output/listing.h"

int listing_print(const struct command *command, const struct command_line *line,
                  const json_t *rows, const struct table_column *columns)
{
    const struct table_wish wish = {.format = command_value(command, line, "format"),
                                    .sort = command_value(command, line, "sort"),
                                    .only = command_value(command, line, "only")};
    const struct table_space space = table_space(command_value(command, line, "width"));
    struct table_column shown[TABLE_COLUMNS_MAX];
    json_t *chosen, *row;
    size_t i;
    int status = 0;

    if (table_wish(&wish, columns, rows, shown, &chosen))
        return EXIT_USAGE;
    if (command_value(command, line, "csv"))
        table_print_csv(shown, chosen);
    else if (!command_value(command, line, "json"))
        status = table_print(shown, chosen, &space) ? EXIT_ANSWER_NO : 0;
    else
        json_array_foreach(chosen, i, row) {
            json_dumpf(row, stdout, JSON_COMPACT);
            putchar('\n');
        }
    json_decref(chosen);
    return status;
}
