// SPDX-License-Identifier: GPL-2.0-or-later
// The decisions of rgpu-slurm-sync: the leases without a job. Pure functions of the answers of the
// broker and Slurm, independent of Slurm's headers.
#ifndef RGPU_SLURM_SYNC_PLAN_H
#define RGPU_SLURM_SYNC_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "slurm-plugin/base/plugin_settings.h"

struct live_job {
    uint32_t id;
    time_t start;
    bool live; // runs, is suspended, configures or completes
    bool runs; // and does not configure or complete
    bool pending, completing;
    bool suspended;
    uint32_t lent_to; // the job for whose sake it is suspended, or 0
    bool can_requeue;
    bool asks; // for remote GPUs
};

struct job_table {
    struct live_job *jobs; // sorted by id
    size_t count;
};

void job_table_sort(struct job_table *table);
const struct live_job *job_table_find(const struct job_table *table, uint32_t id);

// Ids (strings) of this cluster's leases whose job is gone: the caller decrefs. `leases` is the
// broker's list from before the jobs were read: a lease in it had its job by then.
//
// A job's start may be delayed after its lease was taken, because nodes had to be powered up. So a
// lease with another start than the job's is obsolete only if the job also has a lease of its
// present start.
json_t *plan_orphans(const struct slurm_settings *settings, const json_t *leases,
                     const struct job_table *jobs);

// Returns the orders that suspend leases as their jobs are, [{"lease": ID, "order": "suspend" or
// "resume"}]; the caller decrefs.
json_t *plan_suspensions(const struct slurm_settings *settings, const json_t *leases,
                         const struct job_table *jobs);

// Ids of jobs that run with remote GPUs and have no lease; the caller decrefs.
json_t *plan_bare_jobs(const struct slurm_settings *settings, const json_t *leases,
                       const struct job_table *jobs);

#endif
