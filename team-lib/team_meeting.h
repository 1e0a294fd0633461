// SPDX-License-Identifier: BSD-3-Clause
// Meetings by an id that the program passes on: it holds where the process is that made it, and a key.
#ifndef RGPU_TEAM_TEAM_MEETING_H
#define RGPU_TEAM_TEAM_MEETING_H

#include "team-lib/meeting_place.h"
#include "team-lib/rgpu.h"

// Reads an id. INVALID: it is none.
enum rgpu_result team_meeting_read(const struct rgpu_meeting *meeting, struct meeting_place *place);
// Where this process listens for those who have the id, if it made it and nobody has asked before; else -1. The caller closes it.
int team_meeting_claim(const struct meeting_place *place);

#endif
