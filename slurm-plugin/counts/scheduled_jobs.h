// SPDX-License-Identifier: GPL-2.0-or-later
// The jobs that hold remote GPUs, in the order of their ends, and the jobs that wait for GPUs, in
// the order of the scheduler's queue.
#ifndef RGPU_SLURM_SCHEDULED_JOBS_H
#define RGPU_SLURM_SCHEDULED_JOBS_H

#include "slurm-plugin/counts/count.h"
#include "slurm-plugin/base/slurm_headers.h"

// Adds these jobs to the question to the broker: `jobs`, `next`, and `waiting` of each class. Takes
// slurmctld's locks.
void scheduled_jobs_collect(struct count *count);

#endif
