// SPDX-License-Identifier: BSD-3-Clause
// See client_sockets.h. The names are the workers' (common/worker_socket.h), and with a dot before it until
// the worker listens.
#include "daemon/client_sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "common/scope.h"

// Nobody listens there any more. Others' boxes may use the same directory.
static bool is_left_over(int directory, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    SCOPED_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
                     name);

    return fd >= 0 && n > 0 && (size_t)n < sizeof(address.sun_path) &&
           connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
}

// Those of one worker, or with 0 those that nobody listens on.
static void remove_sockets(const char *path, pid_t worker)
{
    DIR *directory = opendir(path);
    char prefix[32];
    int size = snprintf(prefix, sizeof(prefix), worker ? "rgpu-%d-" : "rgpu-", (int)worker);

    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        // One with a dot is about to listen, or its worker is known to be gone.
        const char *name = entry->d_name + (worker && entry->d_name[0] == '.');
        if (!strncmp(name, prefix, (size_t)size) &&
            (worker || is_left_over(dirfd(directory), name)))
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
}

static int make_directory(const char *path)
{
    struct stat status;

    // Others find a socket by its name, which they are told, and need not see all names.
    if (!mkdir(path, 0711) && chmod(path, 0711))
        return -errno;
    if (lstat(path, &status))
        return -errno;
    if (!S_ISDIR(status.st_mode))
        return -ENOTDIR;
    // Who may write there may put another socket in a worker's place.
    if ((status.st_uid && status.st_uid != geteuid()) || status.st_mode & (S_IWGRP | S_IWOTH))
        return -EPERM;
    return access(path, W_OK | X_OK) ? -errno : 0;
}

void client_sockets_open(struct box *box)
{
    const char *path = box->settings.client_sockets;

    if (!path)
        return;
    int err = make_directory(path);
    if (err) {
        log_warn("containers with a network of their own cannot use shm client_sockets=%s "
                 "error=\"%s\"",
                 path, strerror(-err));
        return;
    }
    remove_sockets(path, 0);
    box->has_client_sockets = true;
}

void client_sockets_forget(const struct box *box, pid_t worker)
{
    if (box->has_client_sockets)
        remove_sockets(box->settings.client_sockets, worker);
}
