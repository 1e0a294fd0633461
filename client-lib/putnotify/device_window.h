// SPDX-License-Identifier: BSD-3-Clause
// Windows that are open for kernels (rgpu_window_open_device). The caller holds the team's lock.
// Near members are those whose memory a kernel can write directly; a box puts to the other ones.
#ifndef RGPU_TEAM_DEVICE_WINDOW_H
#define RGPU_TEAM_DEVICE_WINDOW_H

#include "client-lib/putnotify/team_parts.h"

// Ends the waits of kernels whose member has members that are not near, with RGPU_DEVICE_LOST.
void device_window_lose(struct rgpu_window *window);
// Returns true if kernels run on the GPU of a member that is not near to all others. Kernels on
// other GPUs cannot be detected.
bool device_window_runs(struct rgpu_window *window);
// Frees the member's handle and its proxy queue, if it has any. No kernel may use them.
void device_window_free(struct rgpu_window *window, int rank);

#endif
