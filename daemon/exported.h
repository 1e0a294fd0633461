// SPDX-License-Identifier: BSD-3-Clause
// Memory that one session has given others of its lease, or of its user where the box lets them, access to. A worker shows what its driver knows the memory
// by, and gets a token for it; another worker of the same lease shows the token, and gets that. The token is all that
// leaves the box.
#ifndef RGPU_DAEMON_EXPORTED_H
#define RGPU_DAEMON_EXPORTED_H

#include "daemon/worker_process.h"

// A worker exports memory; FD, which stays the caller's, goes with it (-1: none). Answers the worker. -errno where
// that failed.
int exports_add(struct worker_process *worker, const struct control_export *exported, int fd)
    __attribute__((warn_unused_result));
// A worker wants what a token stands for. -errno as above.
int exports_redeem(struct worker_process *worker, const struct control_redeem *redeem)
    __attribute__((warn_unused_result));
// Memory that a worker has shared is freed, or one that it had from another is not used any more. -EPROTO: neither.
int exports_end(struct worker_process *worker, const struct control_export_end *end)
    __attribute__((warn_unused_result));
// Whether the worker's client shares memory or events with other processes, as far as anybody has asked for it.
bool exports_has_any(const struct worker_process *worker);
// A worker has ended, and its account not yet.
void exports_leave(struct worker_process *worker);

#endif
