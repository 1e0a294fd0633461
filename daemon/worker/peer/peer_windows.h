// SPDX-License-Identifier: BSD-3-Clause
// Memory of GPUs of other boxes on this host that this worker's GPU accesses directly
// (peer_windows.c). The client asks the other box's worker to lend it, and this worker to map it.
// Copies then need no other process.
#ifndef RGPU_WORKER_PEER_WINDOWS_H
#define RGPU_WORKER_PEER_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct serve;

// Returns true if the setting peer_gpus allows lending and mapping; else notes an error. It is a
// setting because handles of such memory belong to no lease and no account.
bool peer_windows_allowed(struct serve *serve);
// Sends FD, a handle of the memory at BASE, to the other end of the link PEER, where *REGION names
// it. The caller keeps FD. Failures are noted.
void peer_windows_lend(struct serve *serve, uint32_t peer, CUdeviceptr base, int fd,
                       uint32_t *region);
// Called before requests are served.
void peer_windows_prepare(void);
// Returns true if memory is lent to another box, or mapped from one. Thread-safe.
bool peer_windows_any(void);
// Drops all lent and mapped memory of the link PEER, whose other end is gone. Thread-safe; does not
// wait.
void peer_windows_drop(uint32_t peer);

#endif
