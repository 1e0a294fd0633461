// SPDX-License-Identifier: BSD-3-Clause
// What the GPUs and their sessions do at the moment, as the management library says: for rgpuctl, the broker and
// Prometheus. What it does not say is left out.
#ifndef RGPU_DAEMON_FIGURES_H
#define RGPU_DAEMON_FIGURES_H

#include <jansson.h>

#include "daemon/gauge.h"
#include "daemon/worker_process.h"

// ROUND NULL: nothing is known any more.
void figures_take(struct box *box, const struct gauge_round *round);

// What is taken of the device at this moment: what the library said last, and what this box's sessions have allocated
// and given back since. 0: not known.
uint64_t figures_taken(const struct box_device *device);
uint64_t figures_taken_by(const struct worker_process *worker, const struct box_device *device);

// Add what is known to a JSON object: driver_bytes, utilization (percent), and of a GPU processes, temperature
// (degrees Celsius) and power (watts).
void figures_show_device(const struct box_device *device, json_t *object);
void figures_show_session(const struct worker_process *worker, json_t *object);

// Whether its client has asked for nothing for so long, and no kernel of it runs.
bool figures_session_idle(const struct worker_process *worker, uint64_t microseconds);
// Of a session over all its devices.
uint64_t figures_session_bytes(const struct worker_process *worker);
struct figure
figures_session_utilization(const struct worker_process *worker); // mean of its devices

#endif
