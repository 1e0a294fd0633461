// SPDX-License-Identifier: BSD-3-Clause
// Leases whose sessions are suspended on this box: their workers are quiet, what they had in the GPUs' memory lies in
// the box's, and the GPUs are for others. The clients wait, connected.
#ifndef RGPU_DAEMON_SUSPENSION_H
#define RGPU_DAEMON_SUSPENSION_H

#include <jansson.h>

#include "daemon/box.h"

enum suspension_state {
    SUSPENSION_NONE,      // the sessions run; why they are not suspended is known
    SUSPENSION_PAUSING,   // the workers come to a rest
    SUSPENSION_LEAVING,   // their memory is taken off the GPUs
    SUSPENSION_AWAY,      // it is in the box's memory
    SUSPENSION_RETURNING, // it is put back
    SUSPENSION_UNCLEAR,   // one of both, and the driver has not said how far it came
};

enum suspension_cause {
    SUSPENSION_ORDERED, // stays so until it is ordered otherwise
    SUSPENSION_OF_POOL, // as long as the broker says so
    SUSPENSION_IDLE,    // until the client asks for something
};

// Begins to suspend all sessions of the lease; where NAME is a number, that one session without a lease. 0, also
// where they are suspended already, or -errno with the reason in TEXT: -ENOENT: nothing of that name is here, -ENOSPC:
// the images find no room, -EBUSY.
int suspension_begin(struct box *box, const char *name, enum suspension_cause cause, char *text,
                     size_t room) __attribute__((warn_unused_result));
// Brings them back as soon as there is room. -ENOENT: it is not suspended.
int suspension_end(struct box *box, const char *name) __attribute__((warn_unused_result));
// The broker's whole list of leases to be suspended here; NULL: it says nothing of that.
void suspension_adopt(struct box *box, const json_t *list);
// What has come of them, for the broker.
json_t *suspension_report(const struct box *box);
// The lease is over: what was kept of it is forgotten.
void suspension_forget(struct box *box, const char *lease);

// Looks at all of them after something has changed.
void suspension_review(struct box *box);
// Whether clients with this grant have to wait for one.
bool suspension_delays(struct box *box, const struct session_grant *grant);
// "pausing" and so on; NULL: its session runs.
const char *suspension_word(const struct worker_process *worker);
// The state of one, for those who wait for it; NULL: there is none of that name.
json_t *suspension_show(const struct box *box, const char *name);
uint64_t suspension_bytes(const struct box *box); // of all images
// How many have their memory away from this device; NULL: from any.
unsigned suspension_sessions(const struct box *box, const struct box_device *device);

// What workers say. -EPROTO.
int suspension_paused(struct worker_process *worker, const struct control_paused *paused);
int suspension_called(struct worker_process *worker, const struct control_called *called);

int suspension_open(struct box *box) __attribute__((warn_unused_result));
void suspension_close_all(struct box *box);

#endif
