// SPDX-License-Identifier: BSD-3-Clause
// The life of a worker process, from its start to its obituary.
#ifndef RGPU_DAEMON_WORKER_LIFE_H
#define RGPU_DAEMON_WORKER_LIFE_H

#include "daemon/worker_process.h"

// Starts a worker for DEVICE that reaches no devices but SEES. Failures are counted against the pool. -errno after logging.
int worker_start(struct box *box, struct box_device *device, device_set sees,
                 struct mps_part limits) __attribute__((warn_unused_result));

// Hands FDS to a warm worker: a client's socket, its lease's account if there is one, and what belongs to a window; the
// caller closes its own copies. On failure the worker is being ended and another may be tried.
int worker_grant(struct worker_process *worker, const struct control_grant *grant, const int *fds,
                 size_t count) __attribute__((warn_unused_result));

// Kills and forgets whatever is left, at the very end.
void worker_kill_all(struct box *box);

#endif
