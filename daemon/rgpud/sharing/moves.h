// SPDX-License-Identifier: BSD-3-Clause
// Moves leases to other GPUs of this box: takes orders and reports results. A move is a suspension
// that resumes on another GPU (move_steps.h, suspension_steps.c).
#ifndef RGPU_DAEMON_MOVES_H
#define RGPU_DAEMON_MOVES_H

#include <jansson.h>

#include "daemon/rgpud/box/box.h"

// Orders a move. NAME: a lease, or the number of one of its sessions. TO and FROM: a UUID, a
// number, or BOX:NUMBER; FROM may be "" if the lease has one GPU here. Returns 0, or -errno and the
// reason in TEXT.
int moves_order(struct box *box, const char *name, const char *to, const char *from, char *text,
                size_t room) __attribute__((warn_unused_result));
// Returns the progress of a move: {"lease":, "moving":, "suspended":, "reason":}.
json_t *moves_show(const struct box *box, const char *name);
// Executes the broker's complete list of moved leases. Does nothing if LIST is NULL.
void moves_adopt(struct box *box, const json_t *list);
// Returns the results of moves for the broker.
json_t *moves_report(struct box *box);
// Starts pending moves.
void moves_review(struct box *box);

#endif
