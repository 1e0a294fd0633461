// SPDX-License-Identifier: BSD-3-Clause
// The directory in which each worker has a socket beside its abstract one. A container that has a network namespace of
// its own finds workers there if the directory is mounted into it, and so gets shared memory (transport/shm_sockets.c).
#ifndef RGPU_DAEMON_CLIENT_SOCKETS_H
#define RGPU_DAEMON_CLIENT_SOCKETS_H

#include "common/worker_socket.h"
#include "daemon/box.h"

// Bytes of the directory's path and of a socket's name, each with its end: together they are an address.
enum { CLIENT_SOCKETS_ROOM = 56 };

// Makes the directory where it is missing, and removes what workers that are gone have left. Where it cannot be used,
// that is said, and containers do without.
void client_sockets_open(struct box *box);
// Chooses the name of a worker's sockets, and makes the one in the directory, as the worker is another user and may not.
// Returns it, or -1: there is none, and the worker does without.
int client_sockets_listen(const struct box *box, char name[WORKER_SOCKET_NAME_MAX]);
// Removes the socket of a worker that has ended.
void client_sockets_forget(const struct box *box, const char *name);

#endif
