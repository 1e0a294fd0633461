// SPDX-License-Identifier: BSD-3-Clause
// Windows of teams of several processes. Each process maps the memory of the members of other
// processes, by the driver's IPC handles.
#ifndef RGPU_TEAM_SHARED_WINDOW_H
#define RGPU_TEAM_SHARED_WINDOW_H

#include "client-lib/putnotify/team_parts.h"

// All processes call the first two functions, and wait for each other in them. The caller holds the
// team's lock.

// Fills in the sides of other processes' members. If RESULT is RGPU_SUCCESS, the caller has filled
// in the sides of its own members. An error as RESULT makes the call fail in every process, and the
// call returns RESULT in this one.
enum rgpu_result shared_window_open(struct rgpu_window *window, enum rgpu_result result);
// Returns true if OWN is true in any process. If the exchange fails, marks the team as lost and
// returns false.
bool shared_window_any(struct rgpu_team *team, bool own);

// Unmaps the memory of other processes' members. Does not involve the other processes.
void shared_window_close(struct rgpu_window *window);

#endif
