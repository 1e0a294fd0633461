// SPDX-License-Identifier: BSD-3-Clause
// Starts processes with given descriptors, user and cgroup, and without capabilities.
// (common/base/spawn.h cannot change the user between fork and exec.)
#ifndef RGPU_DAEMON_SPAWNER_CHILD_START_H
#define RGPU_DAEMON_SPAWNER_CHILD_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child_start_request {
    const char *program;
    char *const *arguments;
    const int *fds; // descriptor fds[i] becomes number i of the child; -1: /dev/null
    size_t fd_count;
    bool changes_user;
    uid_t user;            // only with changes_user; the group id is the same number
    uint32_t capabilities; // capabilities to keep, as for capabilities_keep()
    bool groups;           // supplementary groups are those of the GPUs' device nodes; false: none
    int cgroup;            // directory of a cgroup; -1: the caller's
};

// Starts a process with default signal handlers, in its own process group. The kernel kills it when
// the spawner ends. Returns 0, *PID and a pidfd, or -errno, including errors of exec.
int child_start(const struct child_start_request *launch, pid_t *pid, int *pidfd)
    __attribute__((warn_unused_result));

#endif
