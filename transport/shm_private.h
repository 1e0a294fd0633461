// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the shm link.
#ifndef RGPU_TRANSPORT_SHM_PRIVATE_H
#define RGPU_TRANSPORT_SHM_PRIVATE_H

#include "transport/link_private.h"
#include "transport/shm_memory.h"

enum shm_side { SHM_WORKER, SHM_CLIENT };

// Makes a link of mapped memory and a connected, non-blocking SOCK_SEQPACKET socket. On success both
// are the link's; *memory is NULL then.
int shm_link_new(const char *name, enum shm_side side, struct shm_memory **memory, int socket,
                 int watch, const struct link_options *options, struct link **out);

enum { SHM_CANDIDATES = 8 }; // connections that a listener lets wait

// A connected, non-blocking socket to the worker that listens as NAME: by its abstract address, which is found in the
// same network namespace, else by the socket of that name in DIRECTORY (NULL or empty: none), which is found wherever
// that directory is seen. -errno: of the first where there is no such socket, else of the second.
int shm_reach(const char *name, const char *directory, int timeout_ms);

#endif
