// SPDX-License-Identifier: BSD-3-Clause
// What rgpud answers at the administration socket of this machine.
#ifndef RGPU_ADMIN_CLI_BOX_COMMANDS_H
#define RGPU_ADMIN_CLI_BOX_COMMANDS_H

#include <jansson.h>

#define RGPUD_SOCKET "/run/rgpu/rgpud.sock"

// An array of what was asked for. 0 or -errno.
int box_rows(const char *path, const char *question, json_t **rows)
    __attribute__((warn_unused_result));
// Its first row, which is the caller's. The exit status; what the box objects to has been printed.
int box_row(const char *path, const char *question, json_t **row)
    __attribute__((warn_unused_result));

#endif
