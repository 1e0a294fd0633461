// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fault.h"
#include "common/base/log.h"

static int write_file(const char *path, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int err = 0;

    if (fd < 0)
        return -errno;
    while (size && !err) {
        ssize_t n = write(fd, text, size);
        if (n >= 0) {
            text += n;
            size -= (size_t)n;
        } else if (errno != EINTR) {
            err = -errno;
        }
    }
    if (!err && fsync(fd))
        err = -errno;
    if (close(fd) && !err)
        err = -errno;
    return err;
}

// Renames the file and flushes the directory, without which the rename is not on disk.
static int rename_file(const char *directory, const char *from, const char *to)
{
    int err = 0, fd;

    if (rename(from, to))
        return -errno;
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd))
        err = -errno;
    if (fd >= 0)
        close(fd);
    return err;
}

int state_file_replace(const char *directory, const char *name, const char *text, size_t size,
                       const char *point)
{
    char *path = NULL, *temporary = NULL;
    int err = -ENOMEM;

    if (asprintf(&path, "%s/%s", directory, name) < 0)
        path = NULL;
    if (asprintf(&temporary, "%s/%s.new", directory, name) < 0)
        temporary = NULL;
    if (path && temporary)
        err = write_file(temporary, text, size);
    if (!err)
        err = fault_point(point);
    if (!err)
        err = rename_file(directory, temporary, path);
    if (err)
        log_error("cannot write path=%s/%s error=\"%s\"", directory, name, strerror(-err));
    free(path);
    free(temporary);
    return err;
}
