// SPDX-License-Identifier: GPL-2.0-or-later
// Sets the licences of jobs and the totals of slurmctld to what the broker says.
#ifndef RGPU_SLURM_JOB_LICENSES_H
#define RGPU_SLURM_JOB_LICENSES_H

#include "slurm-plugin/count.h"
#include "slurm-plugin/slurm_headers.h"

// Takes slurmctld's locks. Sets *more if jobs may start now that could not. Returns false if the
// broker must be asked again, because a job was not in the question or a class is new.
bool job_licenses_apply(struct count *count, bool *more) __attribute__((warn_unused_result));
// Keeps what there is while the broker says nothing. Returns false while slurmctld starts.
bool job_licenses_keep(struct count *count);
// The number in slurm.conf is the most that this cluster may have of the pool; 0: all of it.
uint64_t job_licenses_at_most(const char *name, uint64_t total);

#endif
