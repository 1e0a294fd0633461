// SPDX-License-Identifier: BSD-3-Clause
// The thread of a team that watches queued work. Every 0.2 seconds it checks that the other
// processes and all GPUs of the team are there. If one is gone, it marks the team as lost, and then
// ends all pending waits, so that no stream waits forever.
#ifndef RGPU_TEAM_TEAM_WATCH_H
#define RGPU_TEAM_TEAM_WATCH_H

#include "client-lib/putnotify/team_parts.h"

// Starts the thread. MEMORY: that is impossible.
enum rgpu_result watch_start(struct rgpu_team *team);
// Waits until all queued work is done, and ends the thread. Does nothing without a thread. The
// caller does not hold the team's lock.
void watch_end(struct rgpu_team *team);

// The caller of the following functions holds the team's lock.

// Wakes the thread, because work has been queued.
void watch_stir(struct rgpu_team *team);
// Marks the team as lost if one of its other processes is gone.
void watch_process_group(struct rgpu_team *team);
// Waits until all queued work is done. Releases the lock meanwhile.
void watch_finish(struct rgpu_team *team);
// Returns true if the last use is not complete. In a failed context that cannot be known: then the
// use counts as pending until the thread has tried often enough to end the waits.
bool watch_is_pending(const struct rgpu_team *team, struct signal_use *use);
// Marks the team as lost unless it is, with this reason, and reports that to the other processes.
// The thread then ends all waits.
__attribute__((format(printf, 2, 3))) void watch_lose(struct rgpu_team *team, const char *format,
                                                      ...);

#endif
