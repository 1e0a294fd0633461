// SPDX-License-Identifier: BSD-3-Clause
// A name by which processes of a lease meet, at the boxes of their tickets. A box passes one
// process's id, inside TLS, to those that prove a ticket of the same lease. The id is published at
// all boxes, so that any box can answer.
#ifndef RGPU_TEAM_MEETING_BOXES_H
#define RGPU_TEAM_MEETING_BOXES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/security/ticket.h"
#include "client-lib/putnotify/failure.h"

struct boxes_told;

// INVALID: another process has published this name, or no box accepts it.
enum rgpu_result meeting_boxes_say(const struct ticket_bundle *bundle, const char *name,
                                   const struct rgpu_meeting *meeting, struct boxes_told **known);
void meeting_boxes_forget(struct boxes_told **known);
// Queries one box, and another one in each of the TRIES. INVALID: no box answers.
enum rgpu_result meeting_boxes_hear(const struct ticket_bundle *bundle, const char *name,
                                    unsigned tries, uint64_t deadline, struct rgpu_meeting *meeting,
                                    bool *heard);

#endif
