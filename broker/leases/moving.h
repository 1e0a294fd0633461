// SPDX-License-Identifier: BSD-3-Clause
// Moves leases to another GPU of the same box. The broker reserves the new GPU for the lease, which
// keeps the old one, and orders the box to move the sessions. The box reports success, and the
// lease gives up the old GPU; or it reports a failure, and the lease gives up the new one. If the
// broker or the box dies meanwhile, the lease still holds both, and the sessions are on one of
// them.
#ifndef RGPU_BROKER_MOVING_H
#define RGPU_BROKER_MOVING_H

#include "broker/leases/core.h"

// Returns the reason why the hold cannot be moved to GPU TO now, or NULL if it can. The reason may
// be formatted into TEXT, which has ROOM bytes.
const char *move_objection(const struct pool_lease *lease, const struct pool_hold *hold,
                           const struct pool_gpu *to, char *text, size_t room);
// Begins a move. Returns OUTCOME_IMMOVABLE if move_objection has a reason. The move of a suspended
// lease is complete at once.
enum outcome broker_move_lease(struct broker *broker, struct pool_lease *lease,
                               struct pool_hold *hold, struct pool_gpu *to, const char *actor)
    __attribute__((warn_unused_result));
// Moves all holds of the GPU, or of the whole box if GPU is NULL, to other GPUs of the box. Sets
// *MOVES to [{"lease":, "gpu":, and "to": or "reason":}].
enum outcome broker_move_off(struct broker *broker, struct pool_box *box, struct pool_gpu *gpu,
                             const char *actor, json_t **moves) __attribute__((warn_unused_result));

// Returns the holds whose GPU differs, or will differ, from the one that their tickets name.
json_t *broker_moves(const struct broker *broker, const struct pool_box *box);
// Handles a box's report on its moves.
enum outcome broker_hear_moves(struct broker *broker, struct pool_box *box, const json_t *list,
                               const char *actor) __attribute__((warn_unused_result));

// Notes that a lease was moved to GPU TO of its box in a lost part of the history (catch_up.h).
enum outcome broker_take_place(struct broker *broker, struct pool_lease *lease,
                               struct pool_hold *hold, struct pool_gpu *to, const char *actor)
    __attribute__((warn_unused_result));

#endif
