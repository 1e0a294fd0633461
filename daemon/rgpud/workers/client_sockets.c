// SPDX-License-Identifier: BSD-3-Clause
// A file has the name of its worker's sockets (common/net/worker_socket.h), with a dot in front
// until the socket listens.
#include "daemon/rgpud/workers/client_sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/net/worker_socket.h"

// Returns true if no process listens on the socket. Other boxes may use the same directory.
static bool is_left_over(int directory, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    SCOPED_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
                     name);

    return fd >= 0 && n > 0 && (size_t)n < sizeof(address.sun_path) &&
           connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
}

// Removes sockets on which no process listens. Names with a dot belong to sockets that will listen
// soon.
static void remove_left_over(const char *path)
{
    DIR *directory = opendir(path);

    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (!strncmp(entry->d_name, WORKER_SOCKET_PREFIX, strlen(WORKER_SOCKET_PREFIX)) &&
            is_left_over(dirfd(directory), entry->d_name))
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
}

static int client_sockets_make_directory(const char *path)
{
    struct stat status;

    // Clients get the name of their socket and must not be able to list all names.
    if (!mkdir(path, 0711) && chmod(path, 0711))
        return -errno;
    if (lstat(path, &status))
        return -errno;
    if (!S_ISDIR(status.st_mode))
        return -ENOTDIR;
    // A user with write access could replace a worker's socket.
    if ((status.st_uid && status.st_uid != geteuid()) || status.st_mode & (S_IWGRP | S_IWOTH))
        return -EPERM;
    return access(path, W_OK | X_OK) ? -errno : 0;
}

void client_sockets_open(struct box *box)
{
    const char *path = box->settings.client_sockets;

    if (!path)
        return;
    int err = client_sockets_make_directory(path);
    if (err) {
        log_warn("containers with a network of their own cannot use shm client_sockets=%s "
                 "error=\"%s\"",
                 path, strerror(-err));
        return;
    }
    remove_left_over(path);
    box->has_client_sockets = true;
}

// Opens the socket under a temporary name and renames it when it listens and everybody may connect.
// A socket under its final name is therefore reachable, or left over from a worker that has ended.
static int listen_in(const char *directory, const char *name)
{
    struct worker_socket_address hidden, shown;
    char before[WORKER_SOCKET_NAME_MAX + 1];

    snprintf(before, sizeof(before), ".%s", name);
    int err = worker_socket_path(directory, before, &hidden);
    if (!err)
        err = worker_socket_path(directory, name, &shown);
    if (err)
        return err;
    SCOPED_FD int fd = worker_socket_listen(&hidden);
    if (fd < 0)
        return fd;
    // The token authenticates the client; the user in a container may be any.
    if (chmod(hidden.un.sun_path, 0666) || rename(hidden.un.sun_path, shown.un.sun_path)) {
        err = -errno;
        unlink(hidden.un.sun_path);
        return err;
    }
    return scoped_take_fd(&fd);
}

int client_sockets_listen(const struct box *box, char name[WORKER_SOCKET_NAME_MAX])
{
    int err = worker_socket_name(name);

    if (err) {
        log_error("cannot name the socket of a worker error=\"%s\"", strerror(-err));
        name[0] = '\0';
        return -1;
    }
    if (!box->has_client_sockets)
        return -1;
    int fd = listen_in(box->settings.client_sockets, name);
    // Most clients do not need the socket.
    if (fd < 0)
        log_warn("containers do not find a worker client_sockets=%s error=\"%s\"",
                 box->settings.client_sockets, strerror(-fd));
    return fd < 0 ? -1 : fd;
}

void client_sockets_forget(const struct box *box, const char *name)
{
    struct worker_socket_address address;

    if (box->has_client_sockets && *name &&
        !worker_socket_path(box->settings.client_sockets, name, &address))
        unlink(address.un.sun_path);
}
