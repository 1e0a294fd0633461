// SPDX-License-Identifier: BSD-3-Clause
// Images that workers make of their movable memory (SAVE and RESTORE in proto/control.spec). While
// workers are asked, their state is in worker->pause.
#ifndef RGPU_DAEMON_WORKER_IMAGES_H
#define RGPU_DAEMON_WORKER_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/rgpud/workers/worker_process.h"

// Asks the workers to save their movable memory within TIMEOUT_MS, and number of the pause NUMBER.
void worker_images_save(struct worker_process **list, size_t count, uint32_t number,
                        unsigned timeout_ms);
// Notes that the driver does not suspend these workers, as those with managed memory. They are not
// asked to save memory again, which would only be moved to and fro.
void worker_images_in_vain(struct worker_process **list, size_t count);
// Asks the workers to restore what they have been asked to save. Returns false if there are none.
bool worker_images_restore(struct worker_process **list, size_t count, uint32_t number);
// Returns true if a worker has not answered yet.
bool worker_images_pending(struct worker_process **list, size_t count);
// Returns true if a worker's GPU did not become idle in time.
bool worker_images_busy(struct worker_process **list, size_t count);
// Returns true if the workers have saved nearly all memory of their programs.
bool worker_images_suffice(struct worker_process **list, size_t count);
// Returns the bytes of a worker that has saved its movable memory: its context, and what it could
// not save.
uint64_t worker_images_rest(const struct worker_process *worker);
// Returns the CUresult of the first failed restoration; 0: none has failed.
int32_t worker_images_result(struct worker_process **list, size_t count);

// Handle the answers of a worker. Return 0, or -EPROTO for an answer that cannot be right.
int worker_images_saved(struct worker_process *worker, const struct control_saved *saved);
int worker_images_restored(struct worker_process *worker, const struct control_restored *restored);

#endif
