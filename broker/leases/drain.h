// SPDX-License-Identifier: BSD-3-Clause
// Drains boxes and GPUs (takes them out of service), and puts them back. Independent of HTTP.
#ifndef RGPU_BROKER_DRAIN_H
#define RGPU_BROKER_DRAIN_H

#include "broker/leases/core.h"

struct drain_order {
    bool drained;       // false: put back into service and delete the reason
    bool force;         // end the leases that hold GPUs there
    const char *reason; // NULL: keep the reason of an earlier drain
    const char *actor;
};

// Drain a box or GPU, or put it back into service.
enum outcome broker_drain_box(struct broker *broker, struct pool_box *box,
                              const struct drain_order *order) __attribute__((warn_unused_result));
enum outcome broker_drain_gpu(struct broker *broker, struct pool_gpu *gpu,
                              const struct drain_order *order) __attribute__((warn_unused_result));

// Drains GPUs of a box that the box itself reports as faulty, and by force ends their leases. LIST
// has the "faults" of a report; entries that are no GPUs of the box are ignored.
enum outcome broker_drain_faulty(struct broker *broker, struct pool_box *box, const json_t *list,
                                 const char *actor) __attribute__((warn_unused_result));

// Returns true if REASON is one line of at most DRAIN_REASON_MAX bytes.
bool drain_reason_is_good(const char *reason);

#endif
