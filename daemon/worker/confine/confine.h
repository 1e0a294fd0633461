// SPDX-License-Identifier: BSD-3-Clause
// Confines a worker before foreign code, first of all the GPU's driver, runs in it.
#ifndef RGPU_WORKER_CONFINE_H
#define RGPU_WORKER_CONFINE_H

#include <stddef.h>

// Sets resource limits, and restricts file access and system calls, in that order, for the rest of
// the process's life. Called while the process has one thread. On failure returns -errno, and TEXT
// names the step.
int confine(char *text, size_t room) __attribute__((warn_unused_result));

#endif
