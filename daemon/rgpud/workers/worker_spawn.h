// SPDX-License-Identifier: BSD-3-Clause
// Orders worker processes from rgpu-spawner, with their sockets and their SETUP message.
#ifndef RGPU_DAEMON_WORKER_SPAWN_H
#define RGPU_DAEMON_WORKER_SPAWN_H

#include "daemon/rgpud/box/spawner_client.h"
#include "daemon/rgpud/workers/worker_setup.h"

// One side of the channels between rgpud and a worker.
struct worker_ends {
    int control, refusals, output;
    int clients; // worker's side only: listening socket for containers; -1: none
};

// Creates the channels. rgpud's side is non-blocking. Returns 0 or -errno.
int worker_ends_make(struct worker_ends *ours, struct worker_ends *theirs)
    __attribute__((warn_unused_result));
void worker_ends_close(const struct worker_ends *ends);
// Writes SETUP to the worker's socket and orders a process with the descriptors THEIRS. Returns 0,
// or -errno if no process starts.
int worker_spawn(struct box *box, const struct worker_part *part, const struct worker_ends *ours,
                 const struct worker_ends *theirs, const struct spawner_owner *owner,
                 uint64_t *number) __attribute__((warn_unused_result));

#endif
