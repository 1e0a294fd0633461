// SPDX-License-Identifier: BSD-3-Clause
// Counts the GPU time of leases: the time that GPUs executed work of their sessions, summed over
// all GPUs of the lease. Each reading of the figures adds to it. The broker receives the counts and
// keeps them.
#ifndef RGPU_DAEMON_GPU_TIME_H
#define RGPU_DAEMON_GPU_TIME_H

#include <jansson.h>

#include "daemon/rgpud/box/monitor.h"
#include "daemon/rgpud/workers/worker_process.h"

struct gpu_time {
    TAILQ_ENTRY(gpu_time) link;
    char lease[128];
    uint64_t number; // of this entry in this run of the daemon
    uint64_t microseconds;
    bool estimated; // a part of it is a share of the whole GPU's activity
    bool reported;  // the last report to the broker declared the count final
    // For a lease with a time share (shares.c): its debt, and the count at the last settlement.
    int64_t debt_us;
    uint64_t settled;
    bool open; // not settled in this turn yet
};

// Adds the work of sessions on the device since the last reading. Call it before figures_ms is
// updated.
void gpu_time_take(struct box_device *device, const struct monitor_round *round, unsigned gpu);
void gpu_time_taken(struct box *box); // ends a reading of all devices
// Adds the work of an ending worker since the last reading. Call it while the worker's session
// still counts on its devices.
void gpu_time_leave(const struct worker_process *worker);

// Returns the entry of a lease, or NULL if it has used no GPU time.
struct gpu_time *gpu_time_find(struct box *box, const char *lease);
// Build the report for the broker, and drop the final counts after the broker has stored them.
json_t *gpu_time_report(struct box *box);
void gpu_time_reported(struct box *box);
void gpu_time_free(struct box *box);

#endif
