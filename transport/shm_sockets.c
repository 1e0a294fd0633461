// SPDX-License-Identifier: BSD-3-Clause
// How the two ends of a shm link find each other. A worker listens on two unix sockets of one random name: an abstract
// one, which all processes of its network namespace find whatever they see of the file system, and one in a directory,
// which a container with another network namespace finds if that directory is mounted into it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/scope.h"
#include "transport/shm_private.h"

#define PREFIX "rgpu-"

struct address {
    struct sockaddr_un un;
    socklen_t size;
};

static int abstract_address(const char *name, struct address *address)
{
    size_t length = strlen(name);

    *address = (struct address){.un.sun_family = AF_UNIX};
    if (!length || length > sizeof(address->un.sun_path) - 1)
        return -EINVAL;
    memcpy(address->un.sun_path + 1, name, length);
    address->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return 0;
}

static int path_address(const char *directory, const char *name, struct address *address)
{
    *address = (struct address){.un.sun_family = AF_UNIX, .size = sizeof(address->un)};
    int n = snprintf(address->un.sun_path, sizeof(address->un.sun_path), "%s/%s", directory, name);
    return n < 0 || (size_t)n >= sizeof(address->un.sun_path) ? -ENAMETOOLONG : 0;
}

// ---- the worker's side ----

static int listen_at(const struct address *address, int *out)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&address->un, address->size) ||
        listen(fd, SHM_CANDIDATES)) {
        int err = -errno;
        close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

// Under another name until it listens and all may connect: what is seen under its own can be reached, or is left over
// from a worker that is gone.
static int listen_in(const char *directory, const char *name, int *out)
{
    struct address hidden, shown;
    char before[72];
    int err, fd = -1;

    snprintf(before, sizeof(before), ".%s", name);
    err = path_address(directory, before, &hidden);
    if (!err)
        err = path_address(directory, name, &shown);
    if (!err)
        err = listen_at(&hidden, &fd);
    if (err)
        return err;
    // Whoever has the token may come, whatever user a container makes of it.
    if (chmod(hidden.un.sun_path, 0666) || rename(hidden.un.sun_path, shown.un.sun_path)) {
        err = -errno;
        unlink(hidden.un.sun_path);
        close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

int shm_listen(const char *directory, struct shm_listener *out)
{
    struct address address;
    uint64_t random[2];
    int err;

    *out = (struct shm_listener){.fds = {-1, -1}};
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    snprintf(out->name, sizeof(out->name), PREFIX "%d-%016llx%016llx", (int)getpid(),
             (unsigned long long)random[0], (unsigned long long)random[1]);
    err = abstract_address(out->name, &address);
    if (!err)
        err = listen_at(&address, &out->fds[0]);
    if (!err && directory && *directory)
        err = listen_in(directory, out->name, &out->fds[1]);
    if (err)
        shm_listener_close(out);
    return err;
}

void shm_listener_close(struct shm_listener *listener)
{
    for (int i = 0; i < SHM_LISTENERS; i++) {
        if (listener->fds[i] >= 0)
            close(listener->fds[i]);
        listener->fds[i] = -1;
    }
}

// ---- the client's side ----

static int connect_to(const struct address *address, int timeout_ms)
{
    struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

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

// A name of the box's is never a way out of the directory.
static bool is_plain(const char *name)
{
    return !strncmp(name, PREFIX, strlen(PREFIX)) && !strchr(name, '/');
}

int shm_reach(const char *name, const char *directory, int timeout_ms)
{
    struct address address;
    int err = abstract_address(name, &address);

    if (err)
        return err;
    int fd = connect_to(&address, timeout_ms);
    if (fd >= 0 || !directory || !*directory || !is_plain(name))
        return fd;
    err = path_address(directory, name, &address);
    return err ? err : connect_to(&address, timeout_ms);
}
