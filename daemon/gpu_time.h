// SPDX-License-Identifier: BSD-3-Clause
// GPU time of leases: for how long GPUs have executed what their sessions asked for, all of the lease's GPUs together. It is
// counted up with each reading of the GPUs' figures, and told to the broker, which keeps it.
#ifndef RGPU_DAEMON_GPU_TIME_H
#define RGPU_DAEMON_GPU_TIME_H

#include <jansson.h>

#include "daemon/gauge.h"
#include "daemon/worker_process.h"

struct gpu_time {
    TAILQ_ENTRY(gpu_time) link;
    char lease[128];
    uint64_t number; // of this count, in this run of the daemon
    uint64_t microseconds;
    bool estimated; // some of it is a part of what the GPU did as a whole
    bool told;      // the broker is being told that this is all
    // Of a lease that is kept to a share (shares.c): what is owed, and how far the count was then.
    int64_t owed_us;
    uint64_t settled;
    bool open; // not settled in this turn yet
};

// Adds what sessions did on the device since the reading before; called before figures_ms becomes that of this reading.
void gpu_time_take(struct box_device *device, const struct gauge_round *round, unsigned gpu);
void gpu_time_taken(struct box *box); // all devices' readings were taken
// A worker ends, which served a session: adds what it did since the last reading. Before it is taken off its devices.
void gpu_time_leave(const struct worker_process *worker);

// NULL: the lease has had none.
struct gpu_time *gpu_time_find(struct box *box, const char *lease);
// For the broker, and what it then knows for good may be forgotten.
json_t *gpu_time_report(struct box *box);
void gpu_time_reported(struct box *box);
void gpu_time_free(struct box *box);

#endif
