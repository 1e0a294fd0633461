// SPDX-License-Identifier: BSD-3-Clause
// The directory in which each worker has a socket beside its abstract one. A container that has a network namespace of
// its own finds workers there if the directory is mounted into it, and so gets shared memory (transport/shm_sockets.c).
#ifndef RGPU_DAEMON_CLIENT_SOCKETS_H
#define RGPU_DAEMON_CLIENT_SOCKETS_H

#include <sys/types.h>

#include "daemon/box.h"

// Makes the directory where it is missing, and removes what workers that are gone have left. Where it cannot be used,
// that is said, and containers do without.
void client_sockets_open(struct box *box);
// Removes the socket of a worker that has ended.
void client_sockets_forget(const struct box *box, pid_t worker);

#endif
