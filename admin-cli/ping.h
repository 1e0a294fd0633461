// SPDX-License-Identifier: BSD-3-Clause
// What others need of `rgpuctl ping`.
#ifndef RGPU_ADMIN_CLI_PING_H
#define RGPU_ADMIN_CLI_PING_H

#include <stdbool.h>
#include <stddef.h>

// The path of the client library; -ENOENT: it is not installed, PATH is where it was looked for.
int ping_library(char *path, size_t size);
// A host and port, and no name of the pool.
bool ping_is_address(const char *box);

#endif
