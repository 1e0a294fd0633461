// SPDX-License-Identifier: BSD-3-Clause
// Confines a worker before code of others, above all the GPU's driver, runs in it.
#ifndef RGPU_WORKER_CONFINE_H
#define RGPU_WORKER_CONFINE_H

#include <stddef.h>

// Sets resource limits, then restricts file access and system calls, until the process ends. The
// process must have one thread. Returns 0, or -errno and the failed step in TEXT.
int confine(char *text, size_t room) __attribute__((warn_unused_result));

#endif
