// SPDX-License-Identifier: BSD-3-Clause
// Starts programs with exactly the given file descriptors.
#ifndef RGPU_COMMON_SPAWN_H
#define RGPU_COMMON_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SPAWN_FD_MAX = 16 };

struct spawn_request {
    const char *program;      // a path; PATH is not searched
    char *const *arguments;   // begins with argument 0, ends with NULL
    char *const *environment; // NULL: environment of the caller
    const int *fds;           // descriptor fds[i] becomes number i of the child; -1: /dev/null
    size_t fd_count;          // at least 3; the child has no other descriptors
    bool own_process_group;   // the child does not get signals of the terminal, such as Ctrl-C
};

// Starts the program with default signal handlers and no blocked signals. Returns 0 or -errno,
// including errors of exec.
int spawn_program(const struct spawn_request *request, pid_t *out)
    __attribute__((warn_unused_result));

// Makes the kernel kill this process when process PARENT ends. Must be called after a change of
// user id, which would undo it. Returns 0 or -errno; -ESRCH if PARENT has ended already.
int spawn_end_with(pid_t parent) __attribute__((warn_unused_result));

// Formats a wait status, such as "exited with status 3" or "killed by signal 9 (Killed)".
void spawn_describe_status(int status, char *text, size_t size);

#endif
