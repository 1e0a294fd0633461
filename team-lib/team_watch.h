// SPDX-License-Identifier: BSD-3-Clause
// A thread looks after what is queued: whether the members are there, so that nobody waits for one that is gone.
#ifndef RGPU_TEAM_TEAM_WATCH_H
#define RGPU_TEAM_TEAM_WATCH_H

#include "team-lib/team_parts.h"

enum rgpu_result watch_start(struct rgpu_team *team);
// Waits until all that is queued is over, which a lost team lets go.
void watch_end(struct rgpu_team *team);

// Under the team's lock, as what follows. Something has been queued.
void watch_stir(struct rgpu_team *team);
// Asks whether the other processes are there; without any there is nothing to ask.
void watch_company(struct rgpu_team *team);
// Waits until all that is queued is over; of a team that is lost, until it has been let go.
void watch_finish(struct rgpu_team *team);
// Whether the last use is still to come to its end.
bool watch_is_pending(const struct rgpu_team *team, struct signal_use *use);
// The team is lost, unless it was already. All waits are let go soon.
__attribute__((format(printf, 2, 3))) void watch_lose(struct rgpu_team *team, const char *format,
                                                      ...);

#endif
