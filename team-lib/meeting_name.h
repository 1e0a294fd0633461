// SPDX-License-Identifier: BSD-3-Clause
// How the processes of a team find the one of member 0 by a name: that one says the id of a meeting, the others hear it.
// With a ticket they do so at the boxes of the lease, and the name belongs to the lease. Without one, or where
// RGPU_TEAM_DIR is set, it is a file, and the name belongs to the lease, the job, or the boxes.
#ifndef RGPU_TEAM_MEETING_NAME_H
#define RGPU_TEAM_MEETING_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "team-lib/failure.h"

struct meeting_said;

// Says MEETING to whoever hears NAME, until it is forgotten or this process ends.
// INVALID: another team of that name is meeting, or there is nowhere to say it.
enum rgpu_result meeting_name_say(const char *name, const struct rgpu_meeting *meeting,
                                  struct meeting_said **said);
void meeting_name_forget(struct meeting_said **said);

// Hears what has been said by NAME. It may wait for that for some seconds, until DEADLINE at most; without *HEARD the caller
// tries again, and counts these tries. What is heard may be of a process that is gone meanwhile.
// INVALID: there is nowhere to hear it.
enum rgpu_result meeting_name_hear(const char *name, unsigned tries, uint64_t deadline,
                                   struct rgpu_meeting *meeting, bool *heard);

#endif
