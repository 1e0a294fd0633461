// SPDX-License-Identifier: BSD-3-Clause
// Windows of teams of several processes: each opens the memory of the others' members on their GPUs.
#ifndef RGPU_TEAM_SHARED_WINDOW_H
#define RGPU_TEAM_SHARED_WINDOW_H

#include "team-lib/team_parts.h"

// All processes call these two. The sides of this process's members are there, unless RESULT says why they are not: then
// it fails everywhere, and returns RESULT here.
enum rgpu_result shared_window_open(struct rgpu_window *window, enum rgpu_result result);
// Whether any process says so. The team is lost where that cannot be told.
bool shared_window_any(struct rgpu_team *team, bool own);

// Each by itself.
void shared_window_close(struct rgpu_window *window);

#endif
