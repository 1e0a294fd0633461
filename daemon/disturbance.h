// SPDX-License-Identifier: BSD-3-Clause
// Whether starting a worker would take something away from clients that are being served: a context is made under the
// driver's locks, by a processor, and while the GPU switches between processes.
#ifndef RGPU_DAEMON_DISTURBANCE_H
#define RGPU_DAEMON_DISTURBANCE_H

#include "daemon/box.h"

// What is known at the moment.
struct disturbance {
    unsigned waiting;          // clients that wait for a worker of the device
    unsigned sessions;         // that the device serves
    bool crowded;              // some of these had to wait, after the figures below were taken
    struct figure utilization; // of the GPU, percent
    unsigned running;          // threads of the host that run or could
    unsigned processors;
    uint64_t short_us;       // since when workers are missing
    int64_t busy_gpu;        // percent from which on a GPU counts as busy
    int64_t busy_processors; // percent of the processors
    uint64_t patience_us;    // for which workers may be missing
};

// How many workers may be starting to fill up a pool.
enum pace { PACE_NONE, PACE_ONE, PACE_MANY };
// WHY: NULL, or what holds them back.
enum pace disturbance_pace(const struct disturbance *now, const char **why);

// Of the device, but for short_us.
void disturbance_look(struct box *box, const struct box_device *device, struct disturbance *out);

#endif
