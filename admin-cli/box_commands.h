// SPDX-License-Identifier: BSD-3-Clause
// Queries to the rgpud of this machine, at its administration socket.
#ifndef RGPU_ADMIN_CLI_BOX_COMMANDS_H
#define RGPU_ADMIN_CLI_BOX_COMMANDS_H

#include <jansson.h>

#define RGPUD_SOCKET "/run/rgpu/rgpud.sock"

// Sends QUESTION to the rgpud at PATH and returns its rows as an array. 0 or -errno.
int box_rows(const char *path, const char *question, json_t **rows)
    __attribute__((warn_unused_result));
// The same for the first row of the answer, which the caller frees. Returns the exit status, after
// printing the box's objection if there is one.
int box_row(const char *path, const char *question, json_t **row)
    __attribute__((warn_unused_result));

#endif
