// SPDX-License-Identifier: GPL-2.0-or-later
// Requests of rgpu-slurm-sync to slurmctld, through libslurm. They return -errno or -EREMOTEIO,
// with a sentence in sync_slurm_error.
#ifndef RGPU_SLURM_SYNC_SLURM_H
#define RGPU_SLURM_SYNC_SLURM_H

#include "slurm-plugin/sync/sync_plan.h"

void sync_slurm_start(void);
const char *sync_slurm_error(void);

// Names the cluster after Slurm's configuration.
int sync_slurm_identify(struct slurm_settings *settings) __attribute__((warn_unused_result));

// All jobs that slurmctld knows, sorted; free(table->jobs).
int sync_slurm_jobs(struct job_table *table) __attribute__((warn_unused_result));

// Shows a text to the job's user: in the job's output, and in scontrol show job.
void sync_slurm_tell(uint32_t job, const char *text);
// With the grace time that the job always has.
int sync_slurm_end(uint32_t job, bool requeue) __attribute__((warn_unused_result));

#endif
