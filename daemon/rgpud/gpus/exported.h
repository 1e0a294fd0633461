// SPDX-License-Identifier: BSD-3-Clause
// Memory that a session shares with others of its lease, or of its user if the setting `exports`
// allows that. A worker sends the driver's handle of the memory to rgpud and gets a token; another
// worker sends the token and gets the handle. Only tokens leave the box.
#ifndef RGPU_DAEMON_EXPORTED_H
#define RGPU_DAEMON_EXPORTED_H

#include "daemon/rgpud/workers/worker_process.h"

struct exported_memory;

// Returns true if FD is of a kind that workers export: a memory file (software GPUs) or NVIDIA's
// control device. Closing these does not block. The check itself never waits for a file system.
bool exports_is_memory(int fd);
// Registers memory of a worker and sends the answer. FD is its descriptor or -1; the caller keeps
// it. Returns 0, or -errno if the worker violates the protocol or cannot receive the answer.
int exports_add(struct worker_process *worker, const struct control_export *exported, int fd)
    __attribute__((warn_unused_result));
// Sends a worker the handle for its token. Returns as exports_add().
int exports_redeem(struct worker_process *worker, const struct control_redeem *redeem)
    __attribute__((warn_unused_result));
// Ends an export, because the memory is freed, or an import, because it is no longer used. Returns
// 0, or -EPROTO if the worker has neither.
int exports_end(struct worker_process *worker, const struct control_export_end *end)
    __attribute__((warn_unused_result));
// Returns true if the worker exports or imports memory or events.
bool exports_has_any(const struct worker_process *worker);
// Acts on the end of session GONE's part in an export; 0: none. Stores the export for the next
// rgpud, or forgets it if no session has it.
void exported_settle(struct box *box, struct exported_memory *exported, uint64_t gone);
// Ends all exports and imports of a worker. Must be called before accounts_leave().
void exports_leave(struct worker_process *worker);

#endif
