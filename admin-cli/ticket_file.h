// SPDX-License-Identifier: BSD-3-Clause
// Passes a ticket to a program in a file, because other programs may get copies of its environment.
#ifndef RGPU_ADMIN_CLI_TICKET_FILE_H
#define RGPU_ADMIN_CLI_TICKET_FILE_H

// Writes a file that only this user can read, under XDG_RUNTIME_DIR or else TMPDIR or /tmp.
// *path is the caller's, for ticket_file_remove. 0 or -errno.
int ticket_file_write(const char *ticket, char **path) __attribute__((warn_unused_result));
void ticket_file_remove(char **path);

#endif
