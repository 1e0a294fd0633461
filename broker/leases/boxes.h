// SPDX-License-Identifier: BSD-3-Clause
// Life of boxes: registration, reports, absence. Independent of HTTP.
#ifndef RGPU_BROKER_BOXES_H
#define RGPU_BROKER_BOXES_H

#include "broker/leases/core.h"

// Registers a box with its description BODY; see docs/reference/broker-api.md. Returns
// OUTCOME_BAD_REQUEST, or OUTCOME_TAKEN if another connected box has one of the GPUs or the name;
// both set *WHY.
enum outcome broker_register(struct broker *broker, const char *name, const json_t *body,
                             const char *actor, const char **why)
    __attribute__((warn_unused_result));

// Returns true if the box has registered since the current epoch (history.h) began.
bool broker_knows_box(const struct broker *broker, const struct pool_box *box);

// Handles a periodic report of a box. RUNNING: ids of the leases with sessions on the box. ENDED:
// ids of the leases whose end the box has completed. ACCEPTING: the box accepts new sessions.
// Returns OUTCOME_UNREGISTERED if the box must register first.
enum outcome broker_hear(struct broker *broker, struct pool_box *box, const char *instance,
                         const json_t *running, const json_t *ended, bool accepting,
                         const char *actor) __attribute__((warn_unused_result));

// Writes an event for each session in LIST, [{"session":, "lease":, "reason":}], whose worker has
// ended without being asked to.
enum outcome broker_note_failed(struct broker *broker, struct pool_box *box, const json_t *list,
                                const char *actor) __attribute__((warn_unused_result));

// Returns the leases that the box must end: [{"lease":, "until":, "reason":}]. RUNNING as for
// broker_hear. VERDICTS: those of adoption.h, or NULL for a box of an earlier release.
// Adds to ASK the unknown leases that the box must reclaim first.
json_t *broker_revocations(struct broker *broker, struct pool_box *box, const json_t *running,
                           const json_t *verdicts, json_t *ask);

// Sets the mode of a GPU. Returns OUTCOME_IN_USE if a lease holds the GPU.
enum outcome broker_set_mode(struct broker *broker, struct pool_gpu *gpu, enum gpu_mode mode,
                             bool automatic, const char *actor) __attribute__((warn_unused_result));
// Records an administrator's statement that nothing runs on an absent box. The box's leases can
// then end without its confirmation. Returns OUTCOME_CONNECTED if the box is connected.
enum outcome broker_box_gone(struct broker *broker, struct pool_box *box, const char *actor)
    __attribute__((warn_unused_result));
// Deletes an absent box. No lease may refer to the box.
enum outcome broker_remove_box(struct broker *broker, struct pool_box *box, const char *actor)
    __attribute__((warn_unused_result));

#endif
