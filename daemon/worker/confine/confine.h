// SPDX-License-Identifier: BSD-3-Clause
// Confines a worker before foreign code, first of all the GPU's driver, runs in it.
#ifndef RGPU_WORKER_CONFINE_H
#define RGPU_WORKER_CONFINE_H

#include <stddef.h>

// Restricts users, limits, files and system calls, in that order, for the rest of the process's
// life. On failure returns -errno, and TEXT names the step. May change command.driver to a path
// that can still be opened.
int confine(char *text, size_t room) __attribute__((warn_unused_result));

#endif
