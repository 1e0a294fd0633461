// SPDX-License-Identifier: GPL-2.0-or-later
// Sets the licences of jobs and the totals of slurmctld's licences to the broker's answer.
#ifndef RGPU_SLURM_JOB_LICENSES_H
#define RGPU_SLURM_JOB_LICENSES_H

#include "slurm-plugin/counts/count.h"
#include "slurm-plugin/base/slurm_headers.h"

// Applies COUNT, an answer of the broker. Takes slurmctld's locks. Sets *MORE to true if more
// licences are free than before, so that waiting jobs may start. Returns false if the caller must
// query the broker again: a job was not in the question, or a class is new.
bool job_licenses_apply(struct count *count, bool *more) __attribute__((warn_unused_result));
// Sets the totals to what jobs hold, while no answer of the broker is known. Takes slurmctld's
// locks. Returns false if slurmctld has not loaded its jobs yet.
bool job_licenses_keep(struct count *count);
// Returns the lesser of TOTAL and the licence's number in slurm.conf, the most that this cluster
// may have of the pool. The number 0 sets no limit.
uint64_t job_licenses_at_most(const char *name, uint64_t total);

#endif
