// SPDX-License-Identifier: BSD-3-Clause
// Takes the orders that suspend and resume leases. They come from the administrator, from the
// broker, and from the limit for idle sessions.
#ifndef RGPU_DAEMON_SUSPENSION_ORDERS_H
#define RGPU_DAEMON_SUSPENSION_ORDERS_H

#include "daemon/rgpud/suspension/suspension.h"

// Begins to suspend all sessions of the lease NAME. If NAME is the number of a session without a
// lease, suspends that session. Returns 0, also if they are suspended already, or -errno with the
// reason in TEXT; -ENOSPC if the images do not fit.
int suspension_begin(struct box *box, const char *name, enum suspension_cause cause, char *text,
                     size_t room) __attribute__((warn_unused_result));
// Resumes the sessions as soon as there is memory. Returns -ENOENT if they are not suspended.
int suspension_end(struct box *box, const char *name) __attribute__((warn_unused_result));
// Adopts the broker's complete lists: leases that it suspends here, and leases that stay suspended
// until their clients make a call. If ORDERED is NULL, nothing changes. The lists are the broker's
// answer to the last report.
void suspension_adopt(struct box *box, const json_t *ordered, const json_t *idle);
// Reports the suspensions to the broker.
json_t *suspension_report(struct box *box);
// Drops the suspension of a lease that has ended.
void suspension_forget(struct box *box, const char *lease);

// Reviews all suspensions after a change.
void suspension_review(struct box *box);

// Starts the regular check for idle sessions. Returns 0 or -ENOMEM.
int suspension_open(struct box *box) __attribute__((warn_unused_result));
void suspension_close_all(struct box *box);

#endif
