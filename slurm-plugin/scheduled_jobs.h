// SPDX-License-Identifier: GPL-2.0-or-later
// The jobs that hold remote GPUs and those that wait for some, in the orders that the scheduler
// uses: the ends of jobs, and the queue.
#ifndef RGPU_SLURM_SCHEDULED_JOBS_H
#define RGPU_SLURM_SCHEDULED_JOBS_H

#include "slurm-plugin/count.h"
#include "slurm-plugin/slurm_headers.h"

// Fills in the jobs of the question to the broker. Takes slurmctld's locks.
void scheduled_jobs_collect(struct count *count);

#endif
