// SPDX-License-Identifier: BSD-3-Clause
// Tracks memory that a session shares with others of its lease, or of its user if the box allows
// that. A worker sends the driver's handle of the memory and gets a token. Another worker shows the
// token and gets the handle. Only the token leaves the box.
#ifndef RGPU_DAEMON_EXPORTED_H
#define RGPU_DAEMON_EXPORTED_H

#include "daemon/rgpud/workers/worker_process.h"

// Returns true if FD is memory that workers export: a file in memory (software GPUs) or NVIDIA's
// control device. The close of these does not block. Does not wait for the file system of another
// descriptor.
bool exports_is_memory(int fd);
// Registers memory that a worker exports, and answers the worker. FD belongs to the memory (-1:
// none); the caller keeps it. Returns -errno if the worker breaks the protocol or cannot get the
// answer.
int exports_add(struct worker_process *worker, const struct control_export *exported, int fd)
    __attribute__((warn_unused_result));
// Gives a worker the handle of the memory that its token names. Returns -errno as above.
int exports_redeem(struct worker_process *worker, const struct control_redeem *redeem)
    __attribute__((warn_unused_result));
// Ends an export because the memory is freed, or an import because it is not used. Returns -EPROTO
// if the worker has neither.
int exports_end(struct worker_process *worker, const struct control_export_end *end)
    __attribute__((warn_unused_result));
// Returns true if the worker's client shares memory or events with other processes, in either
// direction.
bool exports_has_any(const struct worker_process *worker);
// Ends all exports and imports of a worker. Call it before accounts_leave().
void exports_leave(struct worker_process *worker);

#endif
