// SPDX-License-Identifier: BSD-3-Clause
// Orders to suspend and resume leases: from the administrator, the broker, and the limit for idle
// sessions.
#ifndef RGPU_DAEMON_SUSPENSION_ORDERS_H
#define RGPU_DAEMON_SUSPENSION_ORDERS_H

#include "daemon/rgpud/suspension/suspension.h"

// Begins to suspend the sessions of lease NAME, or the session without lease with that number.
// Returns 0, also if they are suspended already, or -errno and the reason in TEXT; -ENOSPC: no
// memory for the images.
int suspension_begin(struct box *box, const char *name, enum suspension_cause cause, char *text,
                     size_t room) __attribute__((warn_unused_result));
// Resumes the sessions once their GPUs have memory. Returns 0, or -ENOENT if they are not
// suspended.
int suspension_end(struct box *box, const char *name) __attribute__((warn_unused_result));
// Executes the broker's complete lists: ORDERED has the leases that the broker suspends here, IDLE
// those that stay suspended until their clients make a request. The lists answer the last report.
// Does nothing if ORDERED is NULL.
void suspension_adopt(struct box *box, const json_t *ordered, const json_t *idle);
// Returns the suspensions for the broker.
json_t *suspension_report(struct box *box);
// Continues the suspension of a session that is taken over from the last rgpud. The driver is
// asked how far a suspension is that needs it. Returns 0, or -errno: the session is not suspended.
int suspension_take_over(struct worker_process *worker, const struct control_kept_session *kept)
    __attribute__((warn_unused_result));
// Removes the suspension of an ended lease.
void suspension_forget(struct box *box, const char *lease);

// Reviews all suspensions. Called by lifecycle_review().
void suspension_review(struct box *box);

// Starts a timer that detects idle sessions. Returns 0 or -ENOMEM.
int suspension_open(struct box *box) __attribute__((warn_unused_result));
void suspension_close_all(struct box *box);

#endif
