// SPDX-License-Identifier: BSD-3-Clause
// Taking boxes and GPUs out of service and putting them back. Without HTTP.
#ifndef RGPU_BROKER_DRAIN_H
#define RGPU_BROKER_DRAIN_H

#include "broker/core.h"

struct drain_order {
    bool drained;       // false: back into service, and what was said is forgotten
    bool force;         // end the leases that hold it
    const char *reason; // NULL: none; where it is drained already, the one that was given then
    const char *actor;
};

enum outcome broker_drain_box(struct broker *broker, struct pool_box *box,
                              const struct drain_order *order) __attribute__((warn_unused_result));
enum outcome broker_drain_gpu(struct broker *broker, struct pool_gpu *gpu,
                              const struct drain_order *order) __attribute__((warn_unused_result));

// Whether a text may be a reason: one line, and not too long.
bool drain_reason_is_good(const char *reason);

#endif
