// SPDX-License-Identifier: BSD-3-Clause
// The part of `rgpuctl ping` that other commands need.
#ifndef RGPU_ADMIN_CLI_PING_H
#define RGPU_ADMIN_CLI_PING_H

#include <stdbool.h>
#include <stddef.h>

// Writes the path of the client library to PATH. -ENOENT: it is not installed there.
int ping_library(char *path, size_t size);
// Returns true if BOX is a host and port instead of a name in the pool.
bool ping_is_address(const char *box);

#endif
