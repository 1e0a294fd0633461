// SPDX-License-Identifier: BSD-3-Clause
// The life of boxes: registration, what they report, drain, absence. Without HTTP.
#ifndef RGPU_BROKER_BOXES_H
#define RGPU_BROKER_BOXES_H

#include "broker/core.h"

// A box's description of itself, from JSON; see docs/broker-api.md. *why says what is wrong
// with OUTCOME_BAD_REQUEST and with OUTCOME_TAKEN: a GPU or the name is in use by a box that is there.
enum outcome broker_register(struct broker *broker, const char *name, const json_t *body,
                             const char *actor, const char **why)
    __attribute__((warn_unused_result));

// Registered since the present epoch began.
bool broker_knows_box(const struct broker *broker, const struct pool_box *box);

// What a box says of its sessions: leases (strings) that it runs, and those whose end it has
// completed, and whether it takes new sessions. OUTCOME_UNREGISTERED: it must register first.
enum outcome broker_hear(struct broker *broker, struct pool_box *box, const char *instance,
                         const json_t *running, const json_t *ended, bool accepting,
                         const char *actor) __attribute__((warn_unused_result));

// Leases that a box must end: [{"lease":, "until":}]. `running` as above.
json_t *broker_revocations(struct broker *broker, struct pool_box *box, const json_t *running);

// OUTCOME_IN_USE while somebody holds the GPU.
enum outcome broker_set_mode(struct broker *broker, struct pool_gpu *gpu, enum gpu_mode mode,
                             bool automatic, const char *actor) __attribute__((warn_unused_result));
// The administrator's word that nothing runs on an absent box any more.
// OUTCOME_CONNECTED if it is there.
enum outcome broker_box_gone(struct broker *broker, struct pool_box *box, const char *actor)
    __attribute__((warn_unused_result));
// Forgets an absent box of which no lease knows.
enum outcome broker_remove_box(struct broker *broker, struct pool_box *box, const char *actor)
    __attribute__((warn_unused_result));

#endif
