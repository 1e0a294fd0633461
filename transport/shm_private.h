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

#endif
