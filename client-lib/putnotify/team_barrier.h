// SPDX-License-Identifier: BSD-3-Clause
// The barrier of a team (rgpu_barrier_async), by signals of a window of the team's own.
#ifndef RGPU_TEAM_BARRIER_H
#define RGPU_TEAM_BARRIER_H

#include "client-lib/putnotify/failure.h"
#include "client-lib/putnotify/rgpu.h"

// Makes the window. All processes of the team call this together.
enum rgpu_result team_barrier_open(struct rgpu_team *team);

#endif
