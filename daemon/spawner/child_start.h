// SPDX-License-Identifier: BSD-3-Clause
// Starts a process with exactly the descriptors, the user and the cgroup that it is meant to have,
// and with no capability. common/base/spawn.h cannot change the user between fork and exec.
#ifndef RGPU_DAEMON_SPAWNER_CHILD_START_H
#define RGPU_DAEMON_SPAWNER_CHILD_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child_start_request {
    const char *program;
    char *const *arguments;
    const int *fds; // descriptor fds[i] becomes number i; -1: /dev/null
    size_t fd_count;
    bool changes_user;
    uid_t user;            // with changes_user; its group has the same number
    uint32_t capabilities; // kept, as in capabilities_keep()
    bool groups;           // the process has the groups of the GPUs' device nodes, and no others
    int cgroup;            // a directory of cgroup v2; -1: that of the caller
};

// Starts it with default signal dispositions, in a process group of its own, and lets the kernel
// kill it when this process ends. Returns 0 with the number and a pidfd, or -errno, where errors of
// exec come back too.
int child_start(const struct child_start_request *launch, pid_t *pid, int *pidfd)
    __attribute__((warn_unused_result));

#endif
