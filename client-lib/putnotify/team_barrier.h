// SPDX-License-Identifier: BSD-3-Clause
// The barrier of a team (rgpu_barrier_async). It uses the signals of a window that belongs to the
// team and has no data.
#ifndef RGPU_TEAM_BARRIER_H
#define RGPU_TEAM_BARRIER_H

#include "client-lib/putnotify/failure.h"
#include "client-lib/putnotify/rgpu.h"

// Makes that window. All processes of the team call this, and wait for each other. The team frees
// the window at its end.
enum rgpu_result team_barrier_open(struct rgpu_team *team);

#endif
