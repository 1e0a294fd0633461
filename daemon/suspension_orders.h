// SPDX-License-Identifier: BSD-3-Clause
// Who has leases suspended and brought back: the administrator, the broker, and for how long nobody has asked for
// anything.
#ifndef RGPU_DAEMON_SUSPENSION_ORDERS_H
#define RGPU_DAEMON_SUSPENSION_ORDERS_H

#include "daemon/suspension.h"

// Begins to suspend all sessions of the lease; where NAME is a number, that one session without a lease. 0, also
// where they are suspended already, or -errno with the reason in TEXT: -ENOSPC: the images find no room.
int suspension_begin(struct box *box, const char *name, enum suspension_cause cause, char *text,
                     size_t room) __attribute__((warn_unused_result));
// Brings them back as soon as there is room. -ENOENT: it is not suspended.
int suspension_end(struct box *box, const char *name) __attribute__((warn_unused_result));
// The broker's whole lists of leases to be suspended here, and of those that are so until they ask for something; NULL:
// it says nothing of that. It answers the report that was made last.
void suspension_adopt(struct box *box, const json_t *ordered, const json_t *idle);
// What has come of them, for the broker.
json_t *suspension_report(struct box *box);
// The lease is over: what was kept of it is forgotten.
void suspension_forget(struct box *box, const char *lease);

// Looks at all of them after something has changed.
void suspension_review(struct box *box);

int suspension_open(struct box *box) __attribute__((warn_unused_result));
void suspension_close_all(struct box *box);

#endif
