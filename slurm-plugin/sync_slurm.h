/* What rgpu-slurm-sync asks of slurmctld, through libslurm. -errno or -EREMOTEIO,
 * with a sentence in sync_slurm_error. */
#ifndef RGPU_SLURM_SYNC_SLURM_H
#define RGPU_SLURM_SYNC_SLURM_H

#include "slurm-plugin/sync_plan.h"

void sync_slurm_start(void);
const char *sync_slurm_error(void);

/* All jobs that slurmctld knows, sorted; free(table->jobs). */
int sync_slurm_jobs(struct job_table *table) __attribute__((warn_unused_result));

#endif
