// SPDX-License-Identifier: BSD-3-Clause
// The life of a worker process, from its start to its obituary.
#ifndef RGPU_DAEMON_WORKER_LIFE_H
#define RGPU_DAEMON_WORKER_LIFE_H

#include "daemon/worker_process.h"

// Starts a worker for DEVICE that reaches no devices but SEES. Failures are counted against the pool. -errno after logging.
int worker_start(struct box *box, struct box_device *device, device_set sees,
                 struct mps_part limits) __attribute__((warn_unused_result));

// Hands a client's socket to a warm worker, and its lease's account (-1: none); the caller closes
// its own copies. On failure the worker
// is being ended and another may be tried.
int worker_grant(struct worker_process *worker, const struct control_grant *grant, int client_fd,
                 int account_fd) __attribute__((warn_unused_result));

// Kills and forgets whatever is left, at the very end.
void worker_kill_all(struct box *box);

// Reaps every worker that has ended; the handler of SIGCHLD.
void worker_reap_all(struct box *box);

#endif
