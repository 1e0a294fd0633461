// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the shm link.
#ifndef RGPU_TRANSPORT_SHM_PRIVATE_H
#define RGPU_TRANSPORT_SHM_PRIVATE_H

#include "common/net/worker_socket.h"
#include "transport/link/link_private.h"
#include "transport/shm/shm_memory.h"

enum shm_side { SHM_WORKER, SHM_CLIENT };

// The doorbells by which one end wakes the other, unless both have the event files; the first
// member of their maker's structure.
struct shm_doorbells {
    void (*ring)(struct shm_doorbells *doorbells, int socket, enum shm_direction direction,
                 enum shm_event event);
    // Events of the socket to wait for, beside its end: POLLIN, which `hear` then handles, or 0.
    short heard;
    void (*hear)(struct shm_doorbells *doorbells, const struct shm_memory *memory, int socket);
    void (*close)(struct shm_doorbells *doorbells); // unmaps, for a forked child
    void (*free)(struct shm_doorbells *doorbells);
};

// Makes a link of mapped memory and a connected, non-blocking SOCK_SEQPACKET socket. On success
// both are the link's; *memory is NULL then.
int shm_link_new(const char *name, enum shm_side side, struct shm_memory **memory, int socket,
                 int watch, const struct link_options *options, struct link **out);

// The same with DOORBELLS of its own, of memory that is a part of a window; on success they are the
// link's.
int shm_link_new_in_window(const char *name, enum shm_side side, struct shm_memory **memory,
                           int socket, struct shm_doorbells *doorbells,
                           const struct link_options *options, struct link **out);
void shm_ring_event(int event);

enum { SHM_CANDIDATES = WORKER_SOCKET_QUEUE }; // connections that a listener lets wait

#endif
