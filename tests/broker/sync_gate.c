// SPDX-License-Identifier: BSD-3-Clause
// A disk that a test stops and lets go on, preloaded: while there is a FIFO named by SYNC_GATE, a
// sync waits until somebody opens it for writing. Each sync is a byte in the file SYNC_COUNT. For
// measurements each takes SYNC_DELAY_MS milliseconds. A query for the name of a user waits for the
// FIFO NAME_GATE and finds none.
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int sync_later(long number, int fd)
{
    const char *gate = getenv("SYNC_GATE"), *count = getenv("SYNC_COUNT");
    const char *delay = getenv("SYNC_DELAY_MS");
    int file;

    if (delay)
        usleep((unsigned)atoi(delay) * 1000);

    if (gate && (file = open(gate, O_RDONLY | O_CLOEXEC)) >= 0)
        close(file);
    if (count && (file = open(count, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) >= 0) {
        if (write(file, ".", 1) != 1)
            abort();
        close(file);
    }
    return (int)syscall(number, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
    return sync_later(SYS_fsync, fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    return sync_later(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int getpwuid_r(uid_t uid, struct passwd *entry, char *buffer,
                                                      size_t size, struct passwd **found)
{
    const char *gate = getenv("NAME_GATE");
    int file = gate ? open(gate, O_RDONLY | O_CLOEXEC) : -1;

    (void)uid, (void)entry, (void)buffer, (void)size;
    if (file >= 0)
        close(file);
    *found = NULL;
    return 0;
}
