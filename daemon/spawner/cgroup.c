// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/spawner/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"

#define MOUNT "/sys/fs/cgroup"

static int write_in(int directory, const char *file, const char *text)
{
    SCOPED_FD int fd = openat(directory, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

// "0::/system.slice/rgpu-workers.service": the line of cgroup v2.
static int own_path(char *path, size_t size)
{
    char line[4096];
    SCOPED_FILE FILE *file = fopen("/proc/self/cgroup", "re");

    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "0::/", 4)) {
            line[strcspn(line, "\n")] = '\0';
            return (size_t)snprintf(path, size, MOUNT "%s", line + 3) < size ? 0 : -ENAMETOOLONG;
        }
    return -ENOTSUP;
}

static void limit(int group, const char *file, const char *text)
{
    static bool reported;
    int err = write_in(group, file, text);

    if (err && !reported)
        log_warn("processes are not limited by cgroup file=%s error=\"%s\"", file, strerror(-err));
    reported |= err != 0;
}

static int cgroup_make_child(int root, const char *name)
{
    if (mkdirat(root, name, 0755) && errno != EEXIST)
        return -errno;
    int child = openat(root, name, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return child < 0 ? -errno : child;
}

// Processes stay in the leaves of the tree only, so this one leaves the cgroup that it shares out.
static int cgroup_leave(int root)
{
    SCOPED_FD int own = cgroup_make_child(root, "spawner");

    return own < 0 ? own : write_in(own, "cgroup.procs", "0");
}

static void share_out(int group, bool report)
{
    static const char *const controllers[] = {"+memory", "+pids", "+cpu"};

    for (size_t i = 0; i < sizeof(controllers) / sizeof(*controllers); i++) {
        int refused = write_in(group, "cgroup.subtree_control", controllers[i]);
        if (refused && report)
            log_warn("cgroup controller %s is not delegated error=\"%s\"", controllers[i] + 1,
                     strerror(-refused));
    }
}

static void limit_memory(int group, uint64_t bytes)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    limit(group, "memory.max", text);
}

// Limits of the cgroup that systemd has delegated are systemd's own, so that of all is in a child
// of it.
int cgroup_open_at(const char *path, uint64_t memory)
{
    struct statfs system;
    SCOPED_FD int root = open(path, O_DIRECTORY | O_CLOEXEC);

    if (root < 0 || fstatfs(root, &system))
        return -errno;
    if (system.f_type != CGROUP2_SUPER_MAGIC)
        return -ENOTSUP;
    int err = cgroup_leave(root);
    if (err)
        return err;
    share_out(root, true);
    int all = cgroup_make_child(root, "workers");
    if (all < 0)
        return all;
    share_out(all, false);
    if (memory)
        limit_memory(all, memory);
    return all;
}

int cgroup_open(uint64_t memory)
{
    char path[4096];
    int err = own_path(path, sizeof(path));

    return err ? err : cgroup_open_at(path, memory);
}

int cgroup_make(int root, const char *name, const struct cgroup_limits *limits)
{
    char text[32];
    int group = cgroup_make_child(root, name);

    if (group < 0)
        return group;
    if (limits->memory) {
        limit_memory(group, limits->memory);
        snprintf(text, sizeof(text), "%llu", (unsigned long long)limits->swap);
        // A kernel without accounts of swap lacks the file.
        (void)write_in(group, "memory.swap.max", text);
    }
    snprintf(text, sizeof(text), "%u", limits->tasks);
    limit(group, "pids.max", text);
    return group;
}

bool cgroup_remove(int root, const char *name)
{
    SCOPED_FD int group = openat(root, name, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    // Kernels before 5.14 lack the file; the processes end by signals, too.
    if (group >= 0)
        (void)write_in(group, "cgroup.kill", "1");
    return !unlinkat(root, name, AT_REMOVEDIR) || errno == ENOENT;
}
