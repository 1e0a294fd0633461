// SPDX-License-Identifier: BSD-3-Clause
// Functions of `rgpuctl ping` for other commands.
#ifndef RGPU_ADMIN_CLI_PING_H
#define RGPU_ADMIN_CLI_PING_H

#include <stdbool.h>
#include <stddef.h>

// Writes the path of the client library to PATH. Returns 0, or -ENOENT if it is not installed.
int ping_library(char *path, size_t size);
// Returns true if BOX is an address (host and port), false if it is the name of a box in the pool.
bool ping_is_address(const char *box);

#endif
