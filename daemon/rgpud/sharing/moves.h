// SPDX-License-Identifier: BSD-3-Clause
// Moves leases to other GPUs of this box: takes orders, checks them, and reports the results. The
// move itself is a suspension that returns on another GPU (move_steps.h, suspension_steps.c).
#ifndef RGPU_DAEMON_MOVES_H
#define RGPU_DAEMON_MOVES_H

#include <jansson.h>

#include "daemon/rgpud/box/box.h"

// Orders a move for an administrator. NAME is a lease or the number of one of its sessions. FROM
// may be empty if the lease has one GPU here. TO and FROM are a UUID, a number, or BOX:NUMBER.
// Returns -errno with the reason in TEXT.
int moves_order(struct box *box, const char *name, const char *to, const char *from, char *text,
                size_t room) __attribute__((warn_unused_result));
// Reports the progress: {"lease":, "moving":, "suspended":, "reason":}.
json_t *moves_show(const struct box *box, const char *name);
// Adopts the broker's complete list of moved leases. If LIST is NULL, nothing changes.
void moves_adopt(struct box *box, const json_t *list);
// Reports the results of the moves to the broker.
json_t *moves_report(struct box *box);
// Starts pending moves.
void moves_review(struct box *box);

#endif
