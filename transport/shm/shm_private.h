// SPDX-License-Identifier: BSD-3-Clause
// Internals of the shm link.
#ifndef RGPU_TRANSPORT_SHM_PRIVATE_H
#define RGPU_TRANSPORT_SHM_PRIVATE_H

#include "common/net/worker_socket.h"
#include "transport/link/link_private.h"
#include "transport/shm/shm_memory.h"

enum shm_side { SHM_WORKER, SHM_CLIENT };

// Functions that wake the peer where the two ends cannot share eventfds. The implementation's
// structure begins with this one.
struct shm_doorbells {
    void (*ring)(struct shm_doorbells *doorbells, int socket, enum shm_direction direction,
                 enum shm_event event);
    // Events of the socket to poll for, besides hang-up: POLLIN, after which `hear` is called, or
    // 0.
    short heard;
    void (*hear)(struct shm_doorbells *doorbells, const struct shm_memory *memory, int socket);
    void (*close)(struct shm_doorbells *doorbells); // for a forked child: only unmaps
    void (*free)(struct shm_doorbells *doorbells);
};

// Creates a link from mapped memory and a connected, non-blocking SOCK_SEQPACKET socket. On success
// the link owns both and *MEMORY is NULL; on failure the caller keeps them.
int shm_link_new(const char *name, enum shm_side side, struct shm_memory **memory, int socket,
                 int watch, const struct link_options *options, struct link **out);

// As shm_link_new(), for memory in a window, with DOORBELLS instead of eventfds. On success the
// link owns DOORBELLS too.
int shm_link_new_in_window(const char *name, enum shm_side side, struct shm_memory **memory,
                           int socket, struct shm_doorbells *doorbells,
                           const struct link_options *options, struct link **out);
// Writes to the eventfd EVENT.
void shm_ring_event(int event);

enum { SHM_CANDIDATES = WORKER_SOCKET_QUEUE }; // maximum connections that wait for a listener

#endif
