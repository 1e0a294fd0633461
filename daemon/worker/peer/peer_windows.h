// SPDX-License-Identifier: BSD-3-Clause
// GPU memory of other boxes on this host that this worker's GPU accesses directly. The client makes
// the other box's worker lend it, and this worker map it. Copies then need no other process.
#ifndef RGPU_WORKER_PEER_WINDOWS_H
#define RGPU_WORKER_PEER_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct serve;

// Returns true if the setting peer_gpus allows lending and mapping; else notes an error. The
// setting exists because handles of such memory are not bound to a lease or account.
bool peer_windows_allowed(struct serve *serve);
// Sends FD, a handle of the memory at BASE, over the link number PEER as region *REGION. The caller
// keeps FD. Errors are noted.
void peer_windows_lend(struct serve *serve, uint32_t peer, CUdeviceptr base, int fd,
                       uint32_t *region);
// Must be called before requests are served.
void peer_windows_prepare(void);
// Returns true if memory is lent to another box or mapped from one. Thread-safe.
bool peer_windows_any(void);
// Drops all lent and mapped memory of the link number PEER, whose other end has gone. Thread-safe;
// does not wait.
void peer_windows_drop(uint32_t peer);

#endif
