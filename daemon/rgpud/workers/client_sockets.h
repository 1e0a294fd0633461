// SPDX-License-Identifier: BSD-3-Clause
// Manages the directory in which each worker has a second socket beside its abstract one. A
// container with its own network namespace can mount the directory, find its worker there, and use
// shared memory (transport/shm/shm_sockets.c).
#ifndef RGPU_DAEMON_CLIENT_SOCKETS_H
#define RGPU_DAEMON_CLIENT_SOCKETS_H

#include "common/net/worker_socket.h"
#include "daemon/rgpud/box/box.h"

// Bytes of the directory's path and of a socket's name, each with its terminator. Together they fit
// in an address.
enum { CLIENT_SOCKETS_ROOM = 56 };

// Makes the directory if it is missing, and removes sockets of workers that have ended. If the
// directory is not usable, logs that; containers then cannot use shared memory.
void client_sockets_open(struct box *box);
// Chooses the name of a worker's sockets and opens the one in the directory, since the worker's own
// user may not. Returns the listening socket, or -1 if there is none; the worker then runs without
// it.
int client_sockets_listen(const struct box *box, char name[WORKER_SOCKET_NAME_MAX]);
// Removes the socket of a worker that has ended.
void client_sockets_forget(const struct box *box, const char *name);

#endif
