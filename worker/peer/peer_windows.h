// SPDX-License-Identifier: BSD-3-Clause
// Memory of GPUs of other boxes on this host, which our GPU reaches: the client has the other box's worker show it,
// and has it mapped here, so that copies need nobody else (peer_windows.c).
#ifndef RGPU_WORKER_PEER_WINDOWS_H
#define RGPU_WORKER_PEER_WINDOWS_H

#include <stdint.h>

// Before requests are served.
void peer_windows_prepare(void);
// The other end of the link of that number is gone: nothing of it is kept. Any thread; does not wait.
void peer_windows_drop(uint32_t peer);

#endif
