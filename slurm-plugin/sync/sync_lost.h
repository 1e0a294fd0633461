// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs whose GPUs are gone while they run: their lease was revoked, drained by force, or its box
// will not come back or has been away for too long. Their users get a message, and the jobs are
// requeued or ended, as the settings say.
#ifndef RGPU_SLURM_SYNC_LOST_H
#define RGPU_SLURM_SYNC_LOST_H

#include "slurm-plugin/sync/sync_plan.h"

struct lost_jobs {
    json_t *informed; // ids of leases whose jobs have a message
    json_t *handled;  // ids of leases whose jobs have been dealt with
    json_t *away;     // ids of leases whose boxes are away, each with the time when that was seen
};

// `leases` as for plan_orphans. -errno of the broker.
int lost_jobs_round(struct lost_jobs *lost, const struct slurm_settings *settings,
                    struct broker_client *client, const json_t *leases,
                    const struct job_table *jobs) __attribute__((warn_unused_result));
void lost_jobs_clear(struct lost_jobs *lost);

#endif
