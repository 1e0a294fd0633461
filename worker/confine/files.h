// SPDX-License-Identifier: BSD-3-Clause
// The files that a worker may open.
#ifndef RGPU_WORKER_CONFINE_FILES_H
#define RGPU_WORKER_CONFINE_FILES_H

#include <stdbool.h>
#include <stddef.h>

// Opens what the rules name, while we may still see it, and adds to GROUPS (with room for *count of
// them) the groups that the device nodes need.
void confine_files_open(void);
size_t confine_files_groups(unsigned *groups, size_t room);
// Takes all other files away. 0 also where the kernel has no Landlock.
int confine_files(bool only_log) __attribute__((warn_unused_result));

#endif
