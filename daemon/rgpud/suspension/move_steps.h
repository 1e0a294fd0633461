// SPDX-License-Identifier: BSD-3-Clause
// Implements the steps that move a lease's sessions between GPUs of this box. The steps of a
// suspension call them.
#ifndef RGPU_DAEMON_MOVE_STEPS_H
#define RGPU_DAEMON_MOVE_STEPS_H

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/spawner_orders.h"

struct suspension;

// Returns true if the worker serves a session of the lease.
bool move_is_of(const struct worker_process *worker, const char *lease);
// Returns true if any session of the lease is not on its target GPUs.
bool move_is_pending(const struct box *box, const char *lease);
// Returns the device that the sessions of a lease use for one of its indexes, or NULL if no session
// uses it.
struct box_device *move_place_now(const struct box *box, const char *lease, uint32_t ordinal);

// Returns the reason that the sessions cannot go to their targets, or NULL if none is known. NEEDED
// is the memory that they use on each device.
const char *move_obstacle(const struct suspension *s, const uint64_t needed[BOX_DEVICES_MAX],
                          char *text, size_t room);
// Adds the pairs of old and new GPUs to the order for rgpu-suspender, and notes the worker's
// targets.
void move_name_gpus(struct worker_process *worker, struct spawner_order *order);
// Updates the worker's devices after the move, and notifies it.
void move_arrived(struct worker_process *worker);
// Cancels the moves of the lease. Returns false if none was pending.
bool move_give_up(struct suspension *s, const char *why);

#endif
