// SPDX-License-Identifier: BSD-3-Clause
// Starts worker processes, gives them sessions, and cleans up after their end.
#ifndef RGPU_DAEMON_WORKER_LIFE_H
#define RGPU_DAEMON_WORKER_LIFE_H

#include "daemon/rgpud/workers/worker_process.h"

// Starts a worker for DEVICE that reaches only the devices SEES. Counts failures in the device's
// pool. Returns 0 or -errno after logging.
int worker_start(struct box *box, struct box_device *device, device_set sees,
                 struct mps_part limits) __attribute__((warn_unused_result));

// Hands FDS to a warm worker: the client's socket, the account of its lease if there is one, and
// the parts of a window. The caller closes its own copies. On failure the worker is being killed;
// the caller may try another one.
int worker_grant(struct worker_process *worker, const struct control_grant *grant, const int *fds,
                 size_t count) __attribute__((warn_unused_result));

// Kills all remaining workers when the daemon ends.
void worker_kill_all(struct box *box);

#endif
