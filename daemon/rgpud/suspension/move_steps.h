// SPDX-License-Identifier: BSD-3-Clause
// Steps of a suspension that move sessions to other GPUs of this box.
#ifndef RGPU_DAEMON_MOVE_STEPS_H
#define RGPU_DAEMON_MOVE_STEPS_H

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/spawner_orders.h"

struct suspension;

// Returns true if the worker serves a session of the lease.
bool move_is_of(const struct worker_process *worker, const char *lease);
// Returns true if a session of the lease is not on the GPUs that lease_places.h demands.
bool move_is_pending(const struct box *box, const char *lease);
// Returns the device that the lease's sessions use for a GPU index; NULL if there are no sessions.
struct box_device *move_place_now(const struct box *box, const char *lease, uint32_t ordinal);

// Returns why the sessions cannot be restored on their new GPUs (maybe in TEXT), or NULL. NEEDED:
// bytes that they use on each device.
const char *move_obstacle(const struct suspension *s, const uint64_t needed[BOX_DEVICES_MAX],
                          char *text, size_t room);
// Adds the pairs of old and new GPUs to an order for rgpu-suspender, and sets worker->going.
void move_name_gpus(struct worker_process *worker, struct spawner_order *order);
// Updates the worker's devices after the move, and sends them to the worker.
void move_arrived(struct worker_process *worker);
// Cancels the moves of the lease. Returns false if there were none.
bool move_give_up(struct suspension *s, const char *why);

#endif
