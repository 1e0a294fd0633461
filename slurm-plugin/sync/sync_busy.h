// SPDX-License-Identifier: GPL-2.0-or-later
// Copies the busy time of a job's GPUs from the broker to the job's record in Slurm's accounting.
// The broker has it when the job's lease has ended; slurmctld has written the record by then.
#ifndef RGPU_SLURM_SYNC_BUSY_H
#define RGPU_SLURM_SYNC_BUSY_H

#include "slurm-plugin/base/plugin_settings.h"

struct busy_jobs {
    json_t *ended;      // ids of leases, with the rounds in which they are tried yet
    json_int_t last;    // the newest event that was read
    bool began, silent; // silent: slurmdbd was asked in vain
    double again;       // monotonic seconds, when it is asked next
};

// -errno of the broker.
int busy_jobs_round(struct busy_jobs *busy, const struct slurm_settings *settings,
                    struct broker_client *client) __attribute__((warn_unused_result));
void busy_jobs_clear(struct busy_jobs *busy);

#endif
