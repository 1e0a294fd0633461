// SPDX-License-Identifier: BSD-3-Clause
// Judges faults of GPUs (proto/gpu_faults.h) and acts on them by the setting gpu_faults: a fault is
// counted, logged, or takes the GPU out of service. The broker then drains the GPU.
#ifndef RGPU_DAEMON_HEALTH_H
#define RGPU_DAEMON_HEALTH_H

#include <jansson.h>
#include <stdio.h>

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/monitor.h"

// Returns 0, or -EINVAL after logging if the setting gpu_faults is malformed.
int health_settings_check(const struct box_settings *settings) __attribute__((warn_unused_result));

// Takes the events and counters of a round.
void health_take(struct box *box, const struct monitor_round *round);

// Returns a word for lists: "ok", or the last fault that was more than counted.
const char *health_word(const struct box_device *device);

// Returns the reason for which a box without a broker refuses the GPU, or NULL.
const char *health_objection(const struct box_device *device);

// Lists GPUs that the broker is to drain, for a report. After the broker's answer health_reported()
// forgets those that the report named.
json_t *health_report(struct box *box);
void health_reported(struct box *box);

// Takes the UUIDs of the GPUs that the broker has drained. A GPU that is back in service is well.
void health_adopt(struct box *box, const json_t *drained);

// Writes the faults and counters of all GPUs for Prometheus.
void health_put(FILE *out, const struct box *box);

#endif
