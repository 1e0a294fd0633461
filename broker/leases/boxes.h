// SPDX-License-Identifier: BSD-3-Clause
// Handles the life of boxes: registration, reports, disappearance. Knows no HTTP.
#ifndef RGPU_BROKER_BOXES_H
#define RGPU_BROKER_BOXES_H

#include "broker/leases/core.h"

// Registers a box with its own description in JSON; see docs/reference/broker-api.md. Sets *why
// with OUTCOME_BAD_REQUEST and with OUTCOME_TAKEN: a connected box uses a GPU or the name.
enum outcome broker_register(struct broker *broker, const char *name, const json_t *body,
                             const char *actor, const char **why)
    __attribute__((warn_unused_result));

// Returns true if the box has registered since the present epoch began.
bool broker_knows_box(const struct broker *broker, const struct pool_box *box);

// Takes over a box's report: leases (strings) that it runs, leases whose end it has completed, and
// whether it accepts new sessions. OUTCOME_UNREGISTERED: it must register first.
enum outcome broker_hear(struct broker *broker, struct pool_box *box, const char *instance,
                         const json_t *running, const json_t *ended, bool accepting,
                         const char *actor) __attribute__((warn_unused_result));

// Lists the leases that a box must end: [{"lease":, "until":}]. `running` as above.
json_t *broker_revocations(struct broker *broker, struct pool_box *box, const json_t *running);

// Sets the mode of a GPU. OUTCOME_IN_USE: a lease holds it.
enum outcome broker_set_mode(struct broker *broker, struct pool_gpu *gpu, enum gpu_mode mode,
                             bool automatic, const char *actor) __attribute__((warn_unused_result));
// Records the administrator's confirmation that nothing runs on an absent box. OUTCOME_CONNECTED:
// the box is connected.
enum outcome broker_box_gone(struct broker *broker, struct pool_box *box, const char *actor)
    __attribute__((warn_unused_result));
// Removes an absent box that no lease refers to.
enum outcome broker_remove_box(struct broker *broker, struct pool_box *box, const char *actor)
    __attribute__((warn_unused_result));

#endif
