// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/spawner/child_start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/security/capabilities.h"
#include "common/base/descriptor.h"
#include "common/base/scope.h"
#include "common/base/spawn.h"

enum { GROUPS_MAX = 32, LIFTED = 32 }; // LIFTED: above every number that a child's descriptors get

// ---- groups of device nodes ----

static void add_groups_in(const char *path, const char *prefix, gid_t *groups, size_t *count)
{
    DIR *directory = opendir(path);
    struct stat status;

    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) ||
            fstatat(dirfd(directory), entry->d_name, &status, 0) || !S_ISCHR(status.st_mode))
            continue;
        bool by_group = (status.st_mode & 060) == 060 && (status.st_mode & 06) != 06;
        bool known = !by_group || !status.st_gid || *count == GROUPS_MAX;
        for (size_t i = 0; i < *count && !known; i++)
            known = groups[i] == status.st_gid;
        if (!known)
            groups[(*count)++] = status.st_gid;
    }
    if (directory)
        closedir(directory);
}

// Landlock keeps a worker to the nodes of its own GPUs; the groups are those of all.
static size_t device_groups(gid_t *groups)
{
    size_t count = 0;

    add_groups_in("/dev", "nvidia", groups, &count);
    add_groups_in("/dev/nvidia-caps", "nvidia-cap", groups, &count);
    add_groups_in("/dev/infiniband", "", groups, &count);
    return count;
}

// ---- in the child ----

// Sources are lifted first, so that filling one number cannot overwrite the source of a later one.
static int place_descriptors(const struct child_start_request *launch)
{
    int lifted[LIFTED];

    for (size_t i = 0; i < launch->fd_count; i++) {
        lifted[i] = launch->fds[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : launch->fds[i];
        lifted[i] = fcntl(lifted[i], F_DUPFD_CLOEXEC, LIFTED);
        if (lifted[i] < 0)
            return -errno;
    }
    for (size_t i = 0; i < launch->fd_count; i++)
        if (dup2(lifted[i], (int)i) < 0)
            return -errno;
    return descriptor_close_from((int)launch->fd_count, true);
}

static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int child_start_become(const struct child_start_request *launch)
{
    gid_t groups[GROUPS_MAX], group = launch->user;
    size_t count = launch->groups ? device_groups(groups) : 0;

    // Without the right to change it they stay as they are.
    if (setgroups(count, groups) && launch->changes_user)
        return -errno;
    if (launch->changes_user &&
        (setresgid(group, group, group) || setresuid(launch->user, launch->user, launch->user)))
        return -errno;
    return 0;
}

static int child_start_prepare(const struct child_start_request *launch, pid_t parent)
{
    int err = setpgid(0, 0) ? -errno : 0;

    reset_signals();
    if (!err)
        err = child_start_become(launch);
    if (!err)
        err = capabilities_keep(launch->capabilities);
    // By exec the user 0 would get back those that it gave up.
    if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        err = -errno;
    return err ? err : spawn_end_with(parent);
}

static int child_start_move(int cgroup)
{
    SCOPED_FD int file = openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    return file < 0 || write(file, "0", 1) != 1 ? -errno : 0;
}

// The program may lie where its new user cannot look, as in a tree under somebody's home; so it is
// opened before.
__attribute__((noreturn)) static void run(const struct child_start_request *launch, pid_t parent,
                                          int report, bool moves)
{
    int program = open(launch->program, O_PATH | O_CLOEXEC);
    int high = fcntl(report, F_DUPFD_CLOEXEC, LIFTED);
    int err = program < 0 || high < 0 ? -errno : 0;

    if (!err && moves)
        err = child_start_move(launch->cgroup);

    program = fcntl(program, F_DUPFD_CLOEXEC, LIFTED);
    if (!err)
        err = child_start_prepare(launch, parent);
    if (!err)
        err = place_descriptors(launch);
    if (!err) {
        execv(launch->program, launch->arguments);
        if (errno == EACCES)
            execveat(program, "", launch->arguments, environ, AT_EMPTY_PATH);
        err = -errno;
    }
    ssize_t ignored = write(high < 0 ? report : high, &err, sizeof(err));
    (void)ignored;
    _exit(127);
}

// ---- in the parent ----

// A process of its own cgroup is born there: to be moved takes the kernel a grace period. Without
// clone3(), which services with RestrictNamespaces= and containers do not have, the child moves.
static pid_t child_start_divide(int cgroup, int *pidfd, bool *moves)
{
    struct clone_args args = {.flags = CLONE_PIDFD | (cgroup < 0 ? 0 : CLONE_INTO_CGROUP),
                              .pidfd = (uint64_t)(uintptr_t)pidfd,
                              .exit_signal = SIGCHLD,
                              .cgroup = cgroup < 0 ? 0 : (uint64_t)cgroup};
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

    *moves = false;
    if (pid >= 0 || (errno != ENOSYS && errno != E2BIG))
        return pid;
    *moves = cgroup >= 0;
    pid = fork();
    if (pid > 0)
        *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return pid;
}

int child_start(const struct child_start_request *launch, pid_t *pid, int *pidfd)
{
    int report[2], err = 0;
    bool moves = false;
    pid_t parent = getpid();

    if (launch->fd_count > LIFTED)
        return -EINVAL;
    if (pipe2(report, O_CLOEXEC))
        return -errno;
    *pidfd = -1;
    *pid = child_start_divide(launch->cgroup, pidfd, &moves);
    if (!*pid)
        run(launch, parent, report[1], moves);
    err = *pid < 0 ? -errno : 0;
    close(report[1]);
    // The end of the pipe is a program that has begun.
    if (!err && read(report[0], &err, sizeof(err)) == sizeof(err))
        waitpid(*pid, NULL, 0);
    close(report[0]);
    if (!err)
        return 0;
    if (*pidfd >= 0)
        close(*pidfd);
    return err;
}
