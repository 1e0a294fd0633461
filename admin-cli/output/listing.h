// SPDX-License-Identifier: BSD-3-Clause
// Printing a list as the options of a command say: TABLE_WISH_OPTIONS and --json.
#ifndef RGPU_ADMIN_CLI_LISTING_H
#define RGPU_ADMIN_CLI_LISTING_H

#include "admin-cli/output/command.h"
#include "admin-cli/output/table_wish.h"

// As a table, or one JSON object per line. The exit status.
int listing_print(const struct command *command, const struct command_line *line,
                  const json_t *rows, const struct table_column *columns);

#endif
