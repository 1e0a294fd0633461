// SPDX-License-Identifier: BSD-3-Clause
// The unix sockets of a worker, of one name "rgpu-PID-RANDOM": an abstract one, which all processes of its network
// namespace find whatever they see of the file system, and one in a directory, which a container with another network
// namespace finds if that directory is mounted into it.
#ifndef RGPU_COMMON_WORKER_SOCKET_H
#define RGPU_COMMON_WORKER_SOCKET_H

#include <sys/socket.h>
#include <sys/un.h>

#define WORKER_SOCKET_PREFIX "rgpu-"

struct worker_socket_address {
    struct sockaddr_un un;
    socklen_t size;
};

// -EINVAL, -ENAMETOOLONG.
int worker_socket_abstract(const char *name, struct worker_socket_address *address);
int worker_socket_path(const char *directory, const char *name,
                       struct worker_socket_address *address);
// A connected, non-blocking SOCK_SEQPACKET socket to the worker of that name: by its abstract address, else by DIRECTORY
// (NULL or empty: none). -errno: of the first where there is no such socket, else of the second; -EINVAL: no worker has
// such a name.
int worker_socket_reach(const char *name, const char *directory, int timeout_ms);

#endif
