// SPDX-License-Identifier: GPL-2.0-or-later
// The places of a job's nodes in Slurm's topology: boxes at their switches are preferred.
#ifndef RGPU_SLURM_JOB_SWITCHES_H
#define RGPU_SLURM_JOB_SWITCHES_H

#include "slurm-plugin/job_lease.h"
#include "slurm-plugin/slurm_headers.h"

// "near=rack1|rack2,near=hall3", the nearest first, as far as there is room; "" where Slurm knows
// no switches. With slurmctld's nodes and configuration locked, as they are in its hooks.
void near_of_job(const job_record_t *job, char near[JOB_NEAR_MAX]);

#endif
