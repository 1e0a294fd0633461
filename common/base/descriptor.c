// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int descriptor_own(int fd)
{
    int before = errno;

    if (fd < 0 || fd >= DESCRIPTOR_OWN)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_OWN);
    if (moved < 0 && fd < DESCRIPTOR_STANDARD) {
        moved = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_STANDARD);
        before = moved < 0 ? errno : before;
    }
    // If no higher number is free, a descriptor stays at a number that is not a standard one.
    if (moved < 0 && fd >= DESCRIPTOR_STANDARD)
        moved = fd;
    else
        close(fd);
    errno = before;
    return moved;
}

int descriptor_own_briefly(int fd)
{
    return fd < 0 || fd >= DESCRIPTOR_STANDARD ? fd : descriptor_own(fd);
}

FILE *descriptor_open_file(const char *path, const char *mode)
{
    bool writes = *mode == 'w';
    int flags = writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
    // Does not wait for another end: a pipe without a reader cannot be written (ENXIO).
    int fd = descriptor_own(open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
    FILE *file = fd < 0 ? NULL : fdopen(fd, writes ? "w" : "r");

    if (fd < 0)
        return NULL;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    if (!file)
        close(fd);
    return file;
}

DIR *descriptor_open_directory(const char *path)
{
    int fd = descriptor_own(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);

    if (fd >= 0 && !directory)
        close(fd);
    return directory;
}

static int close_one_by_one(int first, bool at_exec)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    int err = directory ? 0 : -errno;

    while (!err && (entry = readdir(directory))) {
        int fd = atoi(entry->d_name);
        if (*entry->d_name == '.' || fd < first || fd == dirfd(directory))
            continue;
        if (at_exec ? fcntl(fd, F_SETFD, FD_CLOEXEC) : close(fd))
            err = -errno;
    }
    if (directory)
        closedir(directory);
    return err;
}

int descriptor_close_from(int first, bool at_exec)
{
    unsigned flags = at_exec ? CLOSE_RANGE_CLOEXEC : 0;

    return syscall(SYS_close_range, (unsigned)first, ~0U, flags) ? close_one_by_one(first, at_exec)
                                                                 : 0;
}

void descriptor_fence_begin(struct descriptor_fence *fence)
{
    for (int i = 0; i < DESCRIPTOR_STANDARD; i++) {
        fence->held[i] = -1;
        if (fcntl(i, F_GETFD) >= 0)
            continue;
        // A descriptor that can neither be read nor written.
        fence->held[i] = open("/", O_PATH | O_CLOEXEC);
        if (fence->held[i] != i) { // the program has opened a file meanwhile
            if (fence->held[i] >= 0)
                close(fence->held[i]);
            fence->held[i] = -1;
        }
    }
}

void descriptor_fence_end(struct descriptor_fence *fence)
{
    int before = errno;

    for (int i = 0; i < DESCRIPTOR_STANDARD; i++)
        if (fence->held[i] >= 0)
            close(fence->held[i]);
    errno = before;
}

void descriptor_keep_standard(void)
{
    struct descriptor_fence fence;

    descriptor_fence_begin(&fence);
}

int descriptor_replace(int old, int fd)
{
    if (dup3(fd, old, O_CLOEXEC) < 0)
        return -errno;
    close(fd);
    return 0;
}
