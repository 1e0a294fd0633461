/* A file that takes up room. */
#include "broker/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RESERVE_BYTES = 32 << 20 }; /* some hundred leases end with that */

void reserve_init(struct reserve *reserve, const char *path)
{
    const char *slash = strrchr(path, '/');
    int size = slash ? (int)(slash - path) : 1;

    snprintf(reserve->path, sizeof(reserve->path), "%.*s/reserve", size, slash ? path : ".");
    reserve->held = false;
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

bool reserve_give(struct reserve *reserve)
{
    if (!reserve->held)
        return false;
    reserve->held = false;
    return unlink(reserve->path) == 0;
}
