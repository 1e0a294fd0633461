// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/worker_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/scope.h"
#include "common/security/sha256.h"

// 0 if it is not known; no namespace has that number.
static unsigned long own_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/net", &status) ? 0 : (unsigned long)status.st_ino;
}

int worker_socket_name(char name[WORKER_SOCKET_NAME_MAX])
{
    unsigned long space = own_namespace();
    uint8_t random[12];
    char hex[2 * sizeof(random) + 1];

    if (!space)
        return -ENOENT;
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    hex_encode(random, sizeof(random), hex);
    snprintf(name, WORKER_SOCKET_NAME_MAX, WORKER_SOCKET_PREFIX "%d-%lx-%s", (int)getpid(), space,
             hex);
    return 0;
}

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

int worker_socket_listen(const struct worker_socket_address *address)
{
    SCOPED_FD int fd =
        descriptor_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address->un, address->size) ||
        listen(fd, WORKER_SOCKET_QUEUE))
        return -errno;
    return scoped_take_fd(&fd);
}

static int worker_socket_connect_to(const struct worker_socket_address *address, int timeout_ms)
{
    struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    int wait = timeout_ms ? 0 : SOCK_NONBLOCK;
    int fd = descriptor_own(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | wait, 0));

    if (fd < 0)
        return -errno;
    // Blocks only if other clients fill the queue of the listener; poll() does not report free
    // space in it.
    if (timeout_ms > 0)
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
static bool worker_socket_is_plain(const char *name)
{
    return !strncmp(name, WORKER_SOCKET_PREFIX, strlen(WORKER_SOCKET_PREFIX)) && !strchr(name, '/');
}

// Returns false if the abstract socket of NAME is in another network namespace; in this one, any
// process could have bound the name.
static bool is_of_this_namespace(const char *name)
{
    const char *space = strchr(name + strlen(WORKER_SOCKET_PREFIX), '-');

    if (!space || !strchr(space + 1, '-'))
        return true; // of an earlier release
    return strtoul(space + 1, NULL, 16) == own_namespace();
}

int worker_socket_reach(const char *name, const char *directory, int timeout_ms)
{
    struct worker_socket_address address;
    int err = worker_socket_is_plain(name) ? worker_socket_abstract(name, &address) : -EINVAL;

    if (err)
        return err;
    int fd = is_of_this_namespace(name) ? worker_socket_connect_to(&address, timeout_ms)
                                        : -ECONNREFUSED;
    if (fd >= 0 || !directory || !*directory)
        return fd;
    err = worker_socket_path(directory, name, &address);
    int second = err ? err : worker_socket_connect_to(&address, timeout_ms);
    return second >= 0 || fd != -EAGAIN ? second : fd;
}
