// SPDX-License-Identifier: BSD-3-Clause
// GPU time of leases: the time in which GPUs executed work of their sessions, summed over the GPUs
// of the lease. It is updated whenever the figures are read. Beside it the energy of GPUs that the
// lease has to itself, while it has sessions there, and the bytes that its sessions have sent and
// received over the network. The broker stores all of it.
#ifndef RGPU_DAEMON_GPU_TIME_H
#define RGPU_DAEMON_GPU_TIME_H

#include <jansson.h>

#include "daemon/rgpud/box/monitor.h"
#include "daemon/rgpud/workers/worker_process.h"

struct gpu_time {
    TAILQ_ENTRY(gpu_time) link;
    char lease[128];
    uint64_t number; // unique in this run of rgpud
    uint64_t microseconds, millijoules;
    uint64_t bytes_in, bytes_out; // over the network, from the clients and to them
    bool estimated;               // a part is computed from the whole GPU's activity
    bool reported;                // the last report has named this count as final
    // Lease with a time share (shares.c): its debt, and `microseconds` when it was last settled.
    int64_t debt_us;
    uint64_t settled;
    bool open; // not settled in the current turn yet
};

// Adds the work and the energy of the device's sessions since the last reading. Must be called
// before its figures change.
void gpu_time_take(struct box_device *device, const struct monitor_round *round, unsigned gpu);
void gpu_time_taken(struct box *box); // must be called after all devices
// Adds the work of an ending worker since the last reading. The session must still count on its
// devices.
void gpu_time_leave(const struct worker_process *worker);

// Adds the bytes that have gone over the network since the session's last statistics. Must be
// called before these change.
void gpu_time_add_bytes(const struct worker_process *worker, const struct control_stats *now);

// Returns the entry of a lease, or NULL if there is none yet.
struct gpu_time *gpu_time_find(struct box *box, const char *lease);
// Create the report for the broker (the caller owns the reference), and delete the final counts
// once the broker has stored them.
json_t *gpu_time_report(struct box *box);
void gpu_time_reported(struct box *box);
void gpu_time_free(struct box *box);

#endif
