// SPDX-License-Identifier: BSD-3-Clause
// GPUs whose leases are promised more memory than exists. Each lease has a quota of GPU memory for
// its allocations and requests more when necessary. If there is no more, leases that are idle or
// have used their quantum are suspended for leases that wait, and resume in turn
// (overcommit_turns.h).
#ifndef RGPU_DAEMON_OVERCOMMIT_H
#define RGPU_DAEMON_OVERCOMMIT_H

#include "daemon/rgpud/suspension/suspension.h"

// Reviews the waiting leases. Called by lifecycle_review().
void overcommit_review(struct box *box);
// Returns true if a client with this grant must wait for memory for its context.
bool overcommit_delays(struct box *box, const struct session_grant *grant);
// Applies the lease's quota to its account. Must be called when a session begins.
void overcommit_join(struct box *box, const struct session_grant *grant);

// Handles a worker's request for a larger quota. Returns 0, or -EPROTO if the request is invalid.
int overcommit_asked(struct worker_process *worker, const struct control_quota_request *ask)
    __attribute__((warn_unused_result));
// Drops the requests of an ended worker.
void overcommit_leave(const struct worker_process *worker);

// Returns true if a request of the worker's client waits for a larger quota.
bool overcommit_waits(const struct worker_process *worker);
// Return the number of leases that wait for memory of the device, and the sum of all quotas in
// bytes.
unsigned overcommit_waiting(const struct box *box, const struct box_device *device);
uint64_t overcommit_quota(const struct box *box, const struct box_device *device);

void overcommit_close(struct box *box);

#endif
