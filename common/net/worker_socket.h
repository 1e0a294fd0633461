// SPDX-License-Identifier: BSD-3-Clause
// The two unix sockets of a worker, both named "rgpu-PID-NAMESPACE-RANDOM" and created by process
// PID. All processes of its network namespace find the abstract one, regardless of their file
// systems. A container with another network namespace finds the one in a directory if the directory
// is mounted into it. Every user of the host can read the names in /proc/PID/net/unix. In the
// worker's own namespace no other process can bind the abstract name, but in other namespaces any
// process can. So the name contains the namespace (its inode, in hexadecimal), and clients connect
// to it only in that namespace.
#ifndef RGPU_COMMON_WORKER_SOCKET_H
#define RGPU_COMMON_WORKER_SOCKET_H

#include <sys/socket.h>
#include <sys/un.h>

#define WORKER_SOCKET_PREFIX "rgpu-"
enum {
    WORKER_SOCKET_NAME_MAX = 64,
    WORKER_SOCKET_QUEUE = 8, // connections that wait to be taken
};

struct worker_socket_address {
    struct sockaddr_un un;
    socklen_t size;
};

// Makes a name for a worker of this network namespace. -errno: /proc does not say which network
// namespace this is, or there are no random numbers.
int worker_socket_name(char name[WORKER_SOCKET_NAME_MAX]);
// -EINVAL, -ENAMETOOLONG.
int worker_socket_abstract(const char *name, struct worker_socket_address *address);
int worker_socket_path(const char *directory, const char *name,
                       struct worker_socket_address *address);
// Returns a non-blocking SOCK_SEQPACKET socket that listens there, or -errno.
int worker_socket_listen(const struct worker_socket_address *address);
// A connected, non-blocking SOCK_SEQPACKET socket to the worker of that name: by its abstract
// address, if that is of this network namespace, else by DIRECTORY (NULL or empty: none). A name of
// an earlier release does not say its namespace and is taken as being of this one. Returns -errno
// of the abstract socket if there is no directory, else of the other one. -ECONNREFUSED: the name
// is of another namespace; -EINVAL: it is not the name of a worker; -EAGAIN: the socket exists, but
// its queue was full for TIMEOUT_MS. Any user can fill the queue until the worker takes connections
// from it, which it does once it has agreed to shared memory.
int worker_socket_reach(const char *name, const char *directory, int timeout_ms);

#endif
