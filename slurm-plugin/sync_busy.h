// SPDX-License-Identifier: GPL-2.0-or-later
// The time in which GPUs were busy for a job, from the broker, which has it when the job's lease has ended, into the job's
// record in Slurm's accounting, which slurmctld has written by then.
#ifndef RGPU_SLURM_SYNC_BUSY_H
#define RGPU_SLURM_SYNC_BUSY_H

#include "slurm-plugin/plugin_settings.h"

struct busy_jobs {
    json_t *ended;      // ids of leases, with the rounds in which they are tried yet
    json_int_t last;    // the newest event that was looked at
    bool began, silent; // silent: slurmdbd was asked in vain
    double again;       // monotonic seconds, when it is asked next
};

// -errno of the broker.
int busy_jobs_round(struct busy_jobs *busy, const struct slurm_settings *settings,
                    struct broker_client *client) __attribute__((warn_unused_result));
void busy_jobs_clear(struct busy_jobs *busy);

#endif
