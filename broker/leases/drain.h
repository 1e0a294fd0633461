// SPDX-License-Identifier: BSD-3-Clause
// Drains boxes and GPUs, that is, takes them out of service, and puts them back. Knows no HTTP.
#ifndef RGPU_BROKER_DRAIN_H
#define RGPU_BROKER_DRAIN_H

#include "broker/leases/core.h"

struct drain_order {
    bool drained;       // false: put back into service; the reason is deleted
    bool force;         // end the leases that hold it
    const char *reason; // NULL: keep the reason of an earlier drain, or none
    const char *actor;
};

enum outcome broker_drain_box(struct broker *broker, struct pool_box *box,
                              const struct drain_order *order) __attribute__((warn_unused_result));
enum outcome broker_drain_gpu(struct broker *broker, struct pool_gpu *gpu,
                              const struct drain_order *order) __attribute__((warn_unused_result));

// Returns true if a text may be a reason: one line, and not too long.
bool drain_reason_is_good(const char *reason);

#endif
