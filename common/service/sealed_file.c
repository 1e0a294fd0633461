// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/scope.h"

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

int sealed_file_make(const char *name, const void *bytes, size_t size)
{
    SCOPED_FD int fd = descriptor_own(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));

    if (fd < 0)
        return -errno;
    ssize_t written = write(fd, bytes, size);
    if (written != (ssize_t)size)
        return written < 0 ? -errno : -EIO;
    if (fcntl(fd, F_ADD_SEALS, SEALS))
        return -errno;
    return scoped_take_fd(&fd);
}

int sealed_file_read(int fd, void *bytes, size_t room)
{
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & SEALS) != SEALS)
        return -EPERM;
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (size_t)size > room)
        return size < 0 ? -errno : -EMSGSIZE;
    ssize_t n = pread(fd, bytes, room, 0);
    return n < 0 ? -errno : (int)n;
}
