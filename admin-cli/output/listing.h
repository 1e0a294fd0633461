// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_ADMIN_CLI_LISTING_H
#define RGPU_ADMIN_CLI_LISTING_H

#include "admin-cli/output/command.h"
#include "admin-cli/output/table_wish.h"

// Prints ROWS as a table or as CSV, by the options TABLE_WISH_OPTIONS, or with --json as one JSON
// object per line. Returns the exit status.
int listing_print(const struct command *command, const struct command_line *line,
                  const json_t *rows, const struct table_column *columns);

#endif
