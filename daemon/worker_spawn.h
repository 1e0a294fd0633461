// SPDX-License-Identifier: BSD-3-Clause
// Starting a worker process: its sockets, what it is told, its environment.
#ifndef RGPU_DAEMON_WORKER_SPAWN_H
#define RGPU_DAEMON_WORKER_SPAWN_H

#include "daemon/spawner_client.h"
#include "daemon/worker_setup.h"

// What leads from it to us: messages, questions about system calls that are refused, output.
struct worker_ends {
    int control, refusals, output;
    int clients; // of the worker alone: a socket for containers; -1: it has none
};

// Pairs of them, ours non-blocking. -errno.
int worker_ends_make(struct worker_ends *ours, struct worker_ends *theirs)
    __attribute__((warn_unused_result));
void worker_ends_close(const struct worker_ends *ends);
// Orders the process with THEIRS, and with its SETUP in the socket. -errno: there will be no process.
int worker_spawn(struct box *box, const struct worker_part *part, const struct worker_ends *ours,
                 const struct worker_ends *theirs, const struct spawner_owner *owner,
                 uint64_t *number) __attribute__((warn_unused_result));

#endif
