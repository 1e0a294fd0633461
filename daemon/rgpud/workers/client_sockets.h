// SPDX-License-Identifier: BSD-3-Clause
// Directory with a socket of each worker, besides its abstract socket. A container with its own
// network namespace can mount the directory to reach its worker and to use shared memory
// (transport/shm/shm_sockets.c).
#ifndef RGPU_DAEMON_CLIENT_SOCKETS_H
#define RGPU_DAEMON_CLIENT_SOCKETS_H

#include "common/net/worker_socket.h"
#include "daemon/rgpud/box/box.h"

// Maximum bytes of the directory's path, and of a socket's name, with NUL. Both together fit in a
// socket address.
enum { CLIENT_SOCKETS_ROOM = 56 };

// Creates the directory if necessary, and removes sockets of ended workers. If the directory cannot
// be used, logs that; containers then cannot use shared memory.
void client_sockets_open(struct box *box);
// Chooses a name for a worker's sockets and opens the one in the directory, because the worker's
// user may not. Returns the listening socket, or -1 if there is none; the worker then runs without
// it.
int client_sockets_listen(const struct box *box, char name[WORKER_SOCKET_NAME_MAX]);
// Removes the socket of an ended worker.
void client_sockets_forget(const struct box *box, const char *name);

#endif
