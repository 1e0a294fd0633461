// SPDX-License-Identifier: BSD-3-Clause
// GPUs of which leases are promised more memory than there is. Each lease has room there for what it holds, and asks
// for more; where that is taken, leases that are idle or have had their quantum are suspended for those that wait
// (overcommit_turns.h decides), and come back by turns.
#ifndef RGPU_DAEMON_OVERCOMMIT_H
#define RGPU_DAEMON_OVERCOMMIT_H

#include "daemon/suspension.h"

// Looks at who waits after something has changed.
void overcommit_review(struct box *box);
// Whether a client with this grant has to wait for room for its context.
bool overcommit_delays(struct box *box, const struct session_grant *grant);
// A session of the lease has begun: its account has the lease's room.
void overcommit_join(struct box *box, const struct session_grant *grant);

// A worker asks for room; it ends. -EPROTO.
int overcommit_asked(struct worker_process *worker, const struct control_room_ask *ask)
    __attribute__((warn_unused_result));
void overcommit_leave(const struct worker_process *worker);

// Whether one of its calls waits for room.
bool overcommit_waits(const struct worker_process *worker);
// Leases that wait for room on the device, and what those that are there may hold without asking.
unsigned overcommit_waiting(const struct box *box, const struct box_device *device);
uint64_t overcommit_room(const struct box *box, const struct box_device *device);

void overcommit_close(struct box *box);

#endif
