// SPDX-License-Identifier: BSD-3-Clause
// Restricts the files that a worker can open.
#ifndef RGPU_WORKER_CONFINE_FILES_H
#define RGPU_WORKER_CONFINE_FILES_H

#include <stdbool.h>

// Opens the paths of the rules. Must be called before confine_files().
void confine_files_open(void);
// Denies access to all other files. *RESTRICTED is false if ONLY_LOG is set or the kernel lacks
// Landlock. Returns 0 or -errno.
int confine_files(bool only_log, bool *restricted) __attribute__((warn_unused_result));

#endif
