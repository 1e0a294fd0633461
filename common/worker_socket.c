// SPDX-License-Identifier: BSD-3-Clause
#include "common/worker_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/descriptor.h"

int worker_socket_abstract(const char *name, struct worker_socket_address *address)
{
    size_t length = strlen(name);

    *address = (struct worker_socket_address){.un.sun_family = AF_UNIX};
    if (!length || length > sizeof(address->un.sun_path) - 1)
        return -EINVAL;
    memcpy(address->un.sun_path + 1, name, length);
    address->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return 0;
}

int worker_socket_path(const char *directory, const char *name,
                       struct worker_socket_address *address)
{
    *address =
        (struct worker_socket_address){.un.sun_family = AF_UNIX, .size = sizeof(address->un)};
    int n = snprintf(address->un.sun_path, sizeof(address->un.sun_path), "%s/%s", directory, name);
    return n < 0 || (size_t)n >= sizeof(address->un.sun_path) ? -ENAMETOOLONG : 0;
}

static int connect_to(const struct worker_socket_address *address, int timeout_ms)
{
    struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    int fd = descriptor_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));

    if (fd < 0)
        return -errno;
    // Blocks only where others fill the queue of the listener; poll() does not tell when it has room.
    if (timeout_ms >= 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (const struct sockaddr *)&address->un, address->size) ||
        fcntl(fd, F_SETFL, O_NONBLOCK)) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

// A name that another program gives is never a way out of the directory, or to another's socket.
static bool is_plain(const char *name)
{
    return !strncmp(name, WORKER_SOCKET_PREFIX, strlen(WORKER_SOCKET_PREFIX)) && !strchr(name, '/');
}

int worker_socket_reach(const char *name, const char *directory, int timeout_ms)
{
    struct worker_socket_address address;
    int err = is_plain(name) ? worker_socket_abstract(name, &address) : -EINVAL;

    if (err)
        return err;
    int fd = connect_to(&address, timeout_ms);
    if (fd >= 0 || !directory || !*directory)
        return fd;
    err = worker_socket_path(directory, name, &address);
    return err ? err : connect_to(&address, timeout_ms);
}
