// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a daemon: it shares one mapping more than the daemon's pages say.
#include <sys/mman.h>
#include <unistd.h>

__attribute__((constructor)) static void share(void)
{
    int fd = memfd_create("uninvited", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, 4096) ||
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
        _exit(99);
    close(fd);
}
