// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_ADMIN_CLI_LEASED_RUN_H
#define RGPU_ADMIN_CLI_LEASED_RUN_H

#include "admin-cli/output/command.h"

// Acquires the lease that the options of `rgpuctl run` describe, runs the program in LINE's
// arguments with the lease's ticket, and releases the lease when the program has ended. The caller
// has set up the environment except for the ticket. Returns the program's exit status.
int lease_run(const struct command *command, const struct command_line *line);

#endif
