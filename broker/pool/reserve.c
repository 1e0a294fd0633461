// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

// Some hundred leases end with the first; with less than the second beside it a disk is full.
enum { RESERVE_BYTES = 32 << 20, MARGIN_BYTES = 2 << 20 };

void reserve_init(struct reserve *reserve, const char *path)
{
    const char *slash = strrchr(path, '/');
    int size = slash ? (int)(slash - path) : 1;
    struct stat found;

    snprintf(reserve->path, sizeof(reserve->path), "%.*s/reserve", size, slash ? path : ".");
    reserve->held = stat(reserve->path, &found) == 0 && found.st_blocks * 512ll >= RESERVE_BYTES;
}

int reserve_take(struct reserve *reserve)
{
    int fd, error;

    if (reserve->held)
        return 0;
    fd = open(reserve->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    error = -posix_fallocate(fd, 0, RESERVE_BYTES);
    close(fd);
    if (error)
        unlink(reserve->path);
    reserve->held = !error;
    return error;
}

bool reserve_has_margin(const struct reserve *reserve)
{
    char directory[sizeof(reserve->path)];
    struct statvfs room;

    snprintf(directory, sizeof(directory), "%s", reserve->path);
    *strrchr(directory, '/') = '\0';
    if (statvfs(*directory ? directory : "/", &room) < 0)
        return true; // the next write will show
    return (uint64_t)room.f_bavail * room.f_frsize >= MARGIN_BYTES;
}

bool reserve_give(struct reserve *reserve)
{
    if (!reserve->held)
        return false;
    reserve->held = false;
    return unlink(reserve->path) == 0;
}
