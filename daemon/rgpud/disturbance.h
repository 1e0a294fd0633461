// SPDX-License-Identifier: BSD-3-Clause
// Decides if starting a worker would disturb sessions: creating a context holds locks of the
// driver, takes processor time, and makes the GPU switch between processes.
#ifndef RGPU_DAEMON_DISTURBANCE_H
#define RGPU_DAEMON_DISTURBANCE_H

#include "daemon/rgpud/box/box.h"

// The current load.
struct disturbance {
    unsigned waiting;          // clients that wait for a worker of the device
    unsigned sessions;         // sessions on the device
    bool crowded;              // several sessions had to wait since the figures were read
    struct figure utilization; // percent of the GPU
    unsigned running;          // runnable threads of the host
    unsigned processors;
    uint64_t short_us; // microseconds for which workers have been missing
    int64_t busy_gpu;  // settings: percent from which GPU and processors count as busy
    int64_t busy_processors;
    uint64_t timeout_us; // setting: microseconds that workers may be missing
};

// Number of workers that may start at once, beside those of waiting clients.
enum pace { PACE_NONE, PACE_ONE, PACE_MANY };
// Returns the number of workers that may start. Sets *WHY to a reason for starting fewer, or NULL.
enum pace disturbance_pace(const struct disturbance *now, const char **why);

// Measures the load of the device; does not set short_us.
void disturbance_measure(struct box *box, const struct box_device *device, struct disturbance *out);

#endif
