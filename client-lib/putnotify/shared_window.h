// SPDX-License-Identifier: BSD-3-Clause
// Windows of teams of several processes: each process opens the memory of other processes' members.
#ifndef RGPU_TEAM_SHARED_WINDOW_H
#define RGPU_TEAM_SHARED_WINDOW_H

#include "client-lib/putnotify/team_parts.h"

// All processes call these two. The sides of this process's members exist, unless RESULT is an
// error: then the call fails in every process, and returns RESULT in this one.
enum rgpu_result shared_window_open(struct rgpu_window *window, enum rgpu_result result);
// Returns true if OWN is true in any process. If that cannot be exchanged, the team is lost.
bool shared_window_any(struct rgpu_team *team, bool own);

// Each process calls this by itself.
void shared_window_close(struct rgpu_window *window);

#endif
