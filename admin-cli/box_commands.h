// SPDX-License-Identifier: BSD-3-Clause
// Queries to the daemon rgpud of this machine, through its administration socket.
#ifndef RGPU_ADMIN_CLI_BOX_COMMANDS_H
#define RGPU_ADMIN_CLI_BOX_COMMANDS_H

#include <jansson.h>

#define RGPUD_SOCKET "/run/rgpu/rgpud.sock"

// Sends QUESTION to the rgpud with socket PATH. *ROWS is a new array of its rows. Returns 0 or
// -errno.
int box_rows(const char *path, const char *question, json_t **rows)
    __attribute__((warn_unused_result));
// As box_rows, for the first row, which the caller frees. Prints errors, and returns the exit
// status.
int box_row(const char *path, const char *question, json_t **row)
    __attribute__((warn_unused_result));

#endif
