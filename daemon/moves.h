// SPDX-License-Identifier: BSD-3-Clause
// Leases that go to other GPUs of this box: who orders it, whether it can be, and what comes of it. The way there is a
// suspension that returns elsewhere (move_steps.h, suspension_steps.c).
#ifndef RGPU_DAEMON_MOVES_H
#define RGPU_DAEMON_MOVES_H

#include <jansson.h>

#include "daemon/box.h"

// An administrator has the lease NAME, or that of the session of that number, go to the GPU TO from the GPU FROM
// (empty: the only one that it has here): each a UUID, a number, or BOX:NUMBER. -errno with the reason in TEXT.
int moves_order(struct box *box, const char *name, const char *to, const char *from, char *text,
                size_t room) __attribute__((warn_unused_result));
// How far that is: {"lease":, "moving":, "reason":}.
json_t *moves_show(const struct box *box, const char *name);
// The broker's whole list of places that are not where their tickets say; NULL: it says nothing of that.
void moves_adopt(struct box *box, const json_t *list);
// What has come of them, for the broker.
json_t *moves_report(struct box *box);
// Begins those that are due.
void moves_review(struct box *box);

#endif
