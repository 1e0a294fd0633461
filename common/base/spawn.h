// SPDX-License-Identifier: BSD-3-Clause
// Starts a program with exactly the file descriptors it is meant to have.
#ifndef RGPU_COMMON_SPAWN_H
#define RGPU_COMMON_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SPAWN_FD_MAX = 16 };

struct spawn_request {
    const char *program;      // a path; PATH is not searched
    char *const *arguments;   // argument 0 first, NULL-terminated
    char *const *environment; // NULL: the caller's
    const int *fds;           // descriptor fds[i] becomes number i in the child; -1: /dev/null
    size_t fd_count;          // at least 3; everything else is closed in the child
    bool own_process_group;   // so that a terminal's Ctrl-C reaches the caller alone
};

// Starts it with default signal dispositions and an empty signal mask. 0, or -errno, where errors
// of exec itself (no such file, not executable) come back too.
int spawn_program(const struct spawn_request *request, pid_t *out)
    __attribute__((warn_unused_result));

// Has the kernel kill this process when PARENT ends. A change of user undoes it, so call it
// afterwards. Returns 0 or -errno; -ESRCH if PARENT has ended already.
int spawn_end_with(pid_t parent) __attribute__((warn_unused_result));

// "exited with status 3", "killed by signal 9 (Killed)" ... of a wait status, into TEXT.
void spawn_describe_status(int status, char *text, size_t size);

#endif
