// SPDX-License-Identifier: BSD-3-Clause
// Decides if starting a worker would disturb sessions. The creation of a context takes the driver's
// locks and processor time, and the GPU switches between processes meanwhile.
#ifndef RGPU_DAEMON_DISTURBANCE_H
#define RGPU_DAEMON_DISTURBANCE_H

#include "daemon/rgpud/box/box.h"

// The current load.
struct disturbance {
    unsigned waiting;  // clients that wait for a worker of the device
    unsigned sessions; // sessions on the device
    bool crowded;      // some of these sessions had to wait, after the figures below were read
    struct figure utilization; // of the GPU, percent
    unsigned running;          // runnable threads of the host
    unsigned processors;
    uint64_t short_us;       // time since when workers are missing
    int64_t busy_gpu;        // percent from which a GPU counts as busy
    int64_t busy_processors; // percent from which the processors count as busy
    uint64_t timeout_us;     // time that workers may be missing
};

// The number of workers that may start at once to fill a pool.
enum pace { PACE_NONE, PACE_ONE, PACE_MANY };
// *why gets the reason for holding starts back, or NULL.
enum pace disturbance_pace(const struct disturbance *now, const char **why);

// Measures the load of the device, without short_us.
void disturbance_measure(struct box *box, const struct box_device *device, struct disturbance *out);

#endif
