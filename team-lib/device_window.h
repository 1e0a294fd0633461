// SPDX-License-Identifier: BSD-3-Clause
// Windows that are open for kernels. All under the team's lock.
#ifndef RGPU_TEAM_DEVICE_WINDOW_H
#define RGPU_TEAM_DEVICE_WINDOW_H

#include "team-lib/team_parts.h"

// Kernels that wait for members of other boxes wait no longer; those that wait for near ones do.
void device_window_lose(struct rgpu_window *window);
// Whether kernels run on GPUs of members that others put into by way of boxes; of others nobody knows.
bool device_window_runs(struct rgpu_window *window);
// What the kernels of a member have of it.
void device_window_free(struct rgpu_window *window, int rank);

#endif
