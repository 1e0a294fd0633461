// SPDX-License-Identifier: BSD-3-Clause
// What a worker gives up before foreign code, the GPU's driver first of all, runs in it.
#ifndef RGPU_WORKER_CONFINE_H
#define RGPU_WORKER_CONFINE_H

#include <stddef.h>

// Users, limits, files and system calls, in that order; for the rest of the process's life. -errno with
// TEXT saying which step failed. command.driver may change to a path that can still be opened.
int confine(char *text, size_t room) __attribute__((warn_unused_result));

#endif
