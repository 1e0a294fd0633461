// SPDX-License-Identifier: BSD-3-Clause
// A program run under a lease of its own.
#ifndef RGPU_ADMIN_CLI_LEASED_RUN_H
#define RGPU_ADMIN_CLI_LEASED_RUN_H

#include "admin-cli/output/command.h"

// Takes the lease that the options of `rgpuctl run` ask for, runs the program (LINE's arguments)
// with its ticket, and releases the lease when the program has ended. The environment is set up but
// for the ticket. The exit status is the program's.
int lease_run(const struct command *command, const struct command_line *line);

#endif
