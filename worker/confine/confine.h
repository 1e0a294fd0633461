// SPDX-License-Identifier: BSD-3-Clause
// What a worker gives up before foreign code, the GPU's driver first of all, runs in it.
#ifndef RGPU_WORKER_CONFINE_H
#define RGPU_WORKER_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/control.h"
#include "worker/setup.h"

// worker_filter=log: nothing is refused, only told.
static inline bool confine_only_logs(void)
{
    return setup.worker.worker_filter == CONTROL_WORKER_FILTER_LOG;
}

// Users, limits, files and system calls, in that order; for the rest of the process's life. -errno with
// TEXT saying which step failed. setup.driver may change to a path that can still be opened.
int confine(char *text, size_t room) __attribute__((warn_unused_result));

// ---- files (files.c) ----

// Opens what the rules name, while we may still see it, and adds to GROUPS (with room for *count of
// them) the groups that the device nodes need.
void confine_files_open(void);
size_t confine_files_groups(unsigned *groups, size_t room);
// Takes all other files away. 0 also where the kernel has no Landlock.
int confine_files(bool only_log) __attribute__((warn_unused_result));

// ---- system calls (calls.c) ----

// Refuses all but the listed ones; the supervisor is asked about the others, over the socket for refusals, where
// the kernel can do that.
int confine_calls(void) __attribute__((warn_unused_result));

#endif
