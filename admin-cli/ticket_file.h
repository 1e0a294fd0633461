// SPDX-License-Identifier: BSD-3-Clause
// Passes a ticket to a program in a file instead of the environment, which other programs may
// inherit.
#ifndef RGPU_ADMIN_CLI_TICKET_FILE_H
#define RGPU_ADMIN_CLI_TICKET_FILE_H

// Writes a file that only this user can read, in XDG_RUNTIME_DIR, TMPDIR or /tmp. The caller frees
// *PATH with ticket_file_remove. Returns 0 or -errno.
int ticket_file_write(const char *ticket, char **path) __attribute__((warn_unused_result));
void ticket_file_remove(char **path);

#endif
