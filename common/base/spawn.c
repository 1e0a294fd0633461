// SPDX-License-Identifier: BSD-3-Clause
// Uses posix_spawn, which reports a failed exec to its caller.
#include "common/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// A descriptor above every target, so that filling one target cannot overwrite the source of a
// later one.
static int lift(int fd)
{
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FD_MAX);

    return lifted < 0 ? -errno : lifted;
}

static int add_descriptors(const struct spawn_request *request, int *lifted,
                           posix_spawn_file_actions_t *actions)
{
    for (size_t i = 0; i < request->fd_count; i++) {
        int fd = request->fds[i], err;
        if (fd < 0) {
            err = posix_spawn_file_actions_addopen(actions, (int)i, "/dev/null", O_RDWR, 0);
        } else {
            lifted[i] = lift(fd);
            if (lifted[i] < 0)
                return lifted[i];
            err = posix_spawn_file_actions_adddup2(actions, lifted[i], (int)i);
        }
        if (err)
            return -err;
    }
    return -posix_spawn_file_actions_addclosefrom_np(actions, (int)request->fd_count);
}

static void set_attributes(const struct spawn_request *request, posix_spawnattr_t *attributes)
{
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t set;

    sigemptyset(&set);
    posix_spawnattr_setsigmask(attributes, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(attributes, &set);
    if (request->own_process_group) {
        flags |= POSIX_SPAWN_SETPGROUP;
        posix_spawnattr_setpgroup(attributes, 0);
    }
    posix_spawnattr_setflags(attributes, flags);
}

int spawn_program(const struct spawn_request *request, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int lifted[SPAWN_FD_MAX];
    int err;

    if (request->fd_count < 3 || request->fd_count > SPAWN_FD_MAX)
        return -EINVAL;
    memset(lifted, -1, sizeof(lifted));
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    set_attributes(request, &attributes);
    err = add_descriptors(request, lifted, &actions);
    if (!err)
        err = -posix_spawn(out, request->program, &actions, &attributes, request->arguments,
                           request->environment ? request->environment : environ);
    for (size_t i = 0; i < SPAWN_FD_MAX; i++)
        if (lifted[i] >= 0)
            close(lifted[i]);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return err;
}

int spawn_end_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        return -errno;
    return getppid() == parent ? 0 : -ESRCH;
}

void spawn_describe_status(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "killed by signal %d (%s)%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
    else
        snprintf(text, size, "exited with status %d", WEXITSTATUS(status));
}
