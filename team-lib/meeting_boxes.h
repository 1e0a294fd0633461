// SPDX-License-Identifier: BSD-3-Clause
// A name that processes of a lease meet by, at the boxes that their tickets are for: the box passes on what one of them
// says, inside TLS, to those who prove a ticket of the same lease. It is said at all boxes, so that any of them will do to ask.
#ifndef RGPU_TEAM_MEETING_BOXES_H
#define RGPU_TEAM_MEETING_BOXES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ticket.h"
#include "team-lib/failure.h"

struct boxes_told;

// INVALID: another process has said something by that name, or no box takes it.
enum rgpu_result meeting_boxes_say(const struct ticket_bundle *bundle, const char *name,
                                   const struct rgpu_meeting *meeting, struct boxes_told **told);
void meeting_boxes_forget(struct boxes_told **told);
// Asks one box, another one with each of the TRIES. INVALID: no box answers.
enum rgpu_result meeting_boxes_hear(const struct ticket_bundle *bundle, const char *name,
                                    unsigned tries, uint64_t deadline, struct rgpu_meeting *meeting,
                                    bool *heard);

#endif
