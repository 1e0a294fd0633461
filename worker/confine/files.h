// SPDX-License-Identifier: BSD-3-Clause
// The files that a worker may open.
#ifndef RGPU_WORKER_CONFINE_FILES_H
#define RGPU_WORKER_CONFINE_FILES_H

#include <stdbool.h>

// Opens what the rules name.
void confine_files_open(void);
// Takes all other files away. 0 also where the kernel has no Landlock.
int confine_files(bool only_log) __attribute__((warn_unused_result));

#endif
