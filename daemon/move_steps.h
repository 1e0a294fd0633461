// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a lease's sessions on their way from one GPU of this box to another: a suspension's steps ask here.
#ifndef RGPU_DAEMON_MOVE_STEPS_H
#define RGPU_DAEMON_MOVE_STEPS_H

#include "daemon/box.h"
#include "daemon/spawner/spawner_orders.h"

struct suspension;

// Whether the worker serves a session of the lease.
bool move_is_of(const struct worker_process *worker, const char *lease);
// Whether the lease has sessions that are not yet where they are to be.
bool move_is_pending(const struct box *box, const char *lease);
// The device that the sessions of a lease have for a place; NULL: it has no session with it.
struct box_device *move_place_now(const struct box *box, const char *lease, uint32_t ordinal);

// Why the sessions could not come to where they are to be; NULL: they could, as far as is known. NEEDED is what they
// take of each device now.
const char *move_obstacle(const struct suspension *s, const uint64_t needed[BOX_DEVICES_MAX],
                          char *text, size_t room);
// Adds the GPUs that its memory leaves to the order for rgpu-suspender. The worker is on its way then.
void move_name_gpus(struct worker_process *worker, struct spawner_order *order);
// It has arrived.
void move_arrived(struct worker_process *worker);
// The sessions stay where they are. False: they were not to go anywhere.
bool move_give_up(struct suspension *s, const char *why);

#endif
