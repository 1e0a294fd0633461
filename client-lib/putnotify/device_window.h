// SPDX-License-Identifier: BSD-3-Clause
// Windows that are open for kernels. The caller holds the team's lock.
#ifndef RGPU_TEAM_DEVICE_WINDOW_H
#define RGPU_TEAM_DEVICE_WINDOW_H

#include "client-lib/putnotify/team_parts.h"

// Ends the waits of kernels for members of other boxes. Waits for near members go on.
void device_window_lose(struct rgpu_window *window);
// Returns true if kernels run on a GPU whose member gets puts from other boxes. Kernels on other
// GPUs are not known.
bool device_window_runs(struct rgpu_window *window);
// Frees the member's device memory for kernels.
void device_window_free(struct rgpu_window *window, int rank);

#endif
