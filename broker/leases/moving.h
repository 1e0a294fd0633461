// SPDX-License-Identifier: BSD-3-Clause
// Moves leases to another GPU of the same box. The broker reserves that GPU for the lease, which
// also keeps the old one, and orders the box to move the sessions. The box reports that they have
// moved, and the lease holds only the new GPU; or why they stay, and it holds only the old one. If
// the broker or the box dies meanwhile, the sessions are on one of the two.
#ifndef RGPU_BROKER_MOVING_H
#define RGPU_BROKER_MOVING_H

#include "broker/leases/core.h"

// Returns why the hold cannot move there at this moment, perhaps in TEXT; NULL: it can.
const char *move_objection(const struct pool_lease *lease, const struct pool_hold *hold,
                           const struct pool_gpu *to, char *text, size_t room);
// Begins the move. OUTCOME_IMMOVABLE: move_objection has a reason. A suspended lease is moved
// immediately.
enum outcome broker_move_lease(struct broker *broker, struct pool_lease *lease,
                               struct pool_hold *hold, struct pool_gpu *to, const char *actor)
    __attribute__((warn_unused_result));
// Moves all holds of the GPU, or (NULL) of the box, to other GPUs as far as there are any. Sets
// *moves to a list of {"lease":, "gpu":, and "to": or "reason":}.
enum outcome broker_move_off(struct broker *broker, struct pool_box *box, struct pool_gpu *gpu,
                             const char *actor, json_t **moves) __attribute__((warn_unused_result));

// Lists for a box the holds that are, or are to be, on another GPU than their tickets name.
json_t *broker_moves(const struct broker *broker, const struct pool_box *box);
// Takes over a box's report about its moves.
enum outcome broker_hear_moves(struct broker *broker, struct pool_box *box, const json_t *list,
                               const char *actor) __attribute__((warn_unused_result));

#endif
