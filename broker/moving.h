// SPDX-License-Identifier: BSD-3-Clause
// Leases that go to another GPU of the same box. The broker keeps that GPU for the lease beside the one that it has, and tells
// the box; the box has the sessions go there and says so, and then the lease holds the new one only, or why they stay,
// and then the old one. So a broker or a box that dies on the way finds one of the two to be true.
#ifndef RGPU_BROKER_MOVING_H
#define RGPU_BROKER_MOVING_H

#include "broker/core.h"

// Why what the lease holds cannot go there now; NULL: it can. Perhaps in TEXT.
const char *move_objection(const struct pool_lease *lease, const struct pool_hold *hold,
                           const struct pool_gpu *to, char *text, size_t room);
// OUTCOME_IMMOVABLE: as above. What is suspended is there at once.
enum outcome broker_move_lease(struct broker *broker, struct pool_lease *lease,
                               struct pool_hold *hold, struct pool_gpu *to, const char *actor)
    __attribute__((warn_unused_result));
// What holds the GPU, or (NULL) any of the box, goes to others as far as there are some: a list of {"lease":, "gpu":, and
// "to": or "reason":}.
enum outcome broker_move_off(struct broker *broker, struct pool_box *box, struct pool_gpu *gpu,
                             const char *actor, json_t **moves) __attribute__((warn_unused_result));

// For a box: what is not, or is not to be, on the GPU that its tickets name.
json_t *broker_moves(const struct broker *broker, const struct pool_box *box);
// What it says of them.
enum outcome broker_hear_moves(struct broker *broker, struct pool_box *box, const json_t *list,
                               const char *actor) __attribute__((warn_unused_result));

#endif
