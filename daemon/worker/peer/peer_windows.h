// SPDX-License-Identifier: BSD-3-Clause
// Memory of GPUs of other boxes on this host, which our GPU reaches: the client has the other box's
// worker lend it and maps it here, so that copies need no other process (peer_windows.c).
#ifndef RGPU_WORKER_PEER_WINDOWS_H
#define RGPU_WORKER_PEER_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

struct serve;

// A handle carries no lease and no charge, so a box shows and maps memory only where its
// administrator has said so. False, and noted: it may not.
bool peer_windows_allowed(struct serve *serve);
// Sends FD, which stays the caller's and stands for the mapping at BASE, to the other end of the
// link PEER, where it is *REGION. Failures are noted.
void peer_windows_lend(struct serve *serve, uint32_t peer, CUdeviceptr base, int fd,
                       uint32_t *region);
// Before requests are served.
void peer_windows_prepare(void);
// Returns true if another box's GPU may reach our lent memory, or our GPU some of its. Any thread.
bool peer_windows_any(void);
// The other end of the link of that number is gone: nothing of it is kept. Any thread; does not
// wait.
void peer_windows_drop(uint32_t peer);

#endif
