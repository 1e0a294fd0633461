// SPDX-License-Identifier: BSD-3-Clause
// A thread that watches over queued work: it checks that the other processes exist, so that no
// stream waits for one that is gone.
#ifndef RGPU_TEAM_TEAM_WATCH_H
#define RGPU_TEAM_TEAM_WATCH_H

#include "client-lib/putnotify/team_parts.h"

enum rgpu_result watch_start(struct rgpu_team *team);
// Waits until all queued work is done; if the team is lost, its waits end.
void watch_end(struct rgpu_team *team);

// The caller holds the team's lock from here on. Notes that something has been queued.
void watch_stir(struct rgpu_team *team);
// Checks that the other processes exist, if there are any.
void watch_process_group(struct rgpu_team *team);
// Waits until all queued work is done, or until the waits of a lost team have been ended.
void watch_finish(struct rgpu_team *team);
// Returns true if the last use has not ended yet.
bool watch_is_pending(const struct rgpu_team *team, struct signal_use *use);
// Marks the team as lost, unless it is already. All waits end soon after.
__attribute__((format(printf, 2, 3))) void watch_lose(struct rgpu_team *team, const char *format,
                                                      ...);

#endif
