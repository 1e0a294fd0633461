// SPDX-License-Identifier: BSD-3-Clause
// Orders worker processes, with their sockets and their SETUP message.
#ifndef RGPU_DAEMON_WORKER_SPAWN_H
#define RGPU_DAEMON_WORKER_SPAWN_H

#include "daemon/rgpud/box/spawner_client.h"
#include "daemon/rgpud/workers/worker_setup.h"

// Our or the worker's ends of the channels for messages, refused system calls and output.
struct worker_ends {
    int control, refusals, output;
    int clients; // worker's side only: a socket for containers; -1: none
};

// Creates the channels. Our ends are non-blocking. Returns 0 or -errno.
int worker_ends_make(struct worker_ends *ours, struct worker_ends *theirs)
    __attribute__((warn_unused_result));
void worker_ends_close(const struct worker_ends *ends);
// Orders a process with the descriptors THEIRS, after writing SETUP to its socket. On -errno no
// process starts.
int worker_spawn(struct box *box, const struct worker_part *part, const struct worker_ends *ours,
                 const struct worker_ends *theirs, const struct spawner_owner *owner,
                 uint64_t *number) __attribute__((warn_unused_result));

#endif
