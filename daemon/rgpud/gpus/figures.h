// SPDX-License-Identifier: BSD-3-Clause
// Activity figures of GPUs and sessions from the management library, for rgpuctl, the broker and
// Prometheus. Unknown figures are omitted.
#ifndef RGPU_DAEMON_FIGURES_H
#define RGPU_DAEMON_FIGURES_H

#include <jansson.h>

#include "daemon/rgpud/box/monitor.h"
#include "daemon/rgpud/workers/worker_process.h"

// Stores the figures of a round. ROUND NULL: all figures become unknown.
void figures_take(struct box *box, const struct monitor_round *round);

// Return the memory in use, in bytes: the library's last figure, corrected by allocations of this
// box's sessions since then. 0: unknown.
uint64_t figures_taken(const struct box_device *device);
uint64_t figures_taken_by(const struct worker_process *worker, const struct box_device *device);

// Add the known figures to a JSON object: driver_bytes, utilization (percent), and for a GPU also
// processes, temperature (degrees Celsius) and power (watts).
void figures_show_device(const struct box_device *device, json_t *object);
void figures_show_session(const struct worker_process *worker, json_t *object);

// Returns true if the client has made no request for this time, and no kernel of it runs.
bool figures_session_idle(const struct worker_process *worker, uint64_t microseconds);
// Returns the device memory of a session on all its devices, in bytes.
uint64_t figures_session_bytes(const struct worker_process *worker);
struct figure
figures_session_utilization(const struct worker_process *worker); // percent, mean over its devices

#endif
