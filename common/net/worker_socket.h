// SPDX-License-Identifier: BSD-3-Clause
// The two unix sockets of a worker, both named "rgpu-PID-NAMESPACE-RANDOM" after the process PID
// that created them. The abstract socket is reachable for all processes of the worker's network
// namespace. The socket in a directory is reachable from a container with another network
// namespace, if the directory is mounted there. The names are readable for all users in
// /proc/PID/net/unix. Within the worker's namespace no other process can bind the abstract name,
// but in other namespaces any process can. Therefore the name contains the namespace (its inode, in
// hexadecimal), and clients use the abstract name only in that namespace.
#ifndef RGPU_COMMON_WORKER_SOCKET_H
#define RGPU_COMMON_WORKER_SOCKET_H

#include <sys/socket.h>
#include <sys/un.h>

#define WORKER_SOCKET_PREFIX "rgpu-"
enum {
    WORKER_SOCKET_NAME_MAX = 64,
    WORKER_SOCKET_QUEUE = 8, // maximum connections that wait to be accepted
};

struct worker_socket_address {
    struct sockaddr_un un;
    socklen_t size;
};

// Creates a name for a worker in this network namespace. Returns -errno without /proc or random
// numbers.
int worker_socket_name(char name[WORKER_SOCKET_NAME_MAX]);
// Fill in an address. Return 0, -EINVAL or -ENAMETOOLONG.
int worker_socket_abstract(const char *name, struct worker_socket_address *address);
int worker_socket_path(const char *directory, const char *name,
                       struct worker_socket_address *address);
// Returns a non-blocking SOCK_SEQPACKET socket that listens at ADDRESS, or -errno.
int worker_socket_listen(const struct worker_socket_address *address);
// Returns a connected, non-blocking SOCK_SEQPACKET socket to the worker with that name: through the
// abstract socket if the name is of this network namespace, else through DIRECTORY (may be NULL or
// ""). Names of earlier releases have no namespace and count as being of this one. Otherwise
// returns -errno of the last socket tried. -ECONNREFUSED: the name is of another namespace;
// -EINVAL: it is not the name of a worker; -EAGAIN: its queue was full for TIMEOUT_MS. Any user can
// fill the queue until the worker accepts connections, which it does after it has agreed to shared
// memory.
int worker_socket_reach(const char *name, const char *directory, int timeout_ms);

#endif
