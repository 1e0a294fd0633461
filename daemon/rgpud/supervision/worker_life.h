// SPDX-License-Identifier: BSD-3-Clause
// Starts workers, passes clients to them, and cleans up after their end.
#ifndef RGPU_DAEMON_WORKER_LIFE_H
#define RGPU_DAEMON_WORKER_LIFE_H

#include "daemon/rgpud/box/spawner_kept.h"
#include "daemon/rgpud/workers/worker_process.h"

// Starts a worker for DEVICE (NULL: the first worker) with access to the devices SEES. Failures
// count in the device's pool. Returns 0, or -errno after logging.
int worker_start(struct box *box, struct box_device *device, device_set sees,
                 struct mps_part limits) __attribute__((warn_unused_result));

// Sends a client to a warm worker, with the descriptors FDS: its socket, the account of its lease
// (optional), and those of a window. The caller keeps FDS. The worker gets a copy of SESSION, whose
// ticket it frees. On failure the worker is killed; the caller may try another one.
int worker_grant(struct worker_process *worker, const struct control_grant *grant,
                 const struct session_record *session, const int *fds, size_t count)
    __attribute__((warn_unused_result));

// Makes the record of a worker of an earlier rgpud, with its session. Takes the worker's ends out
// of KEPT, and a copy of the filter (-1: none). Returns NULL if the worker has ended or memory is
// exhausted.
struct worker_process *worker_take_over(struct box *box, struct box_device *device,
                                        struct spawner_kept *kept, int filter, bool mps,
                                        const struct session_record *session);

// Kills all workers. For the shutdown.
void worker_kill_all(struct box *box);

#endif
