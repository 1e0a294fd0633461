// SPDX-License-Identifier: GPL-2.0-or-later
// The switches of a job's nodes in Slurm's topology. The broker prefers boxes at these switches.
#ifndef RGPU_SLURM_JOB_SWITCHES_H
#define RGPU_SLURM_JOB_SWITCHES_H

#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/base/slurm_headers.h"

// Writes the constraints of places_print (places.h) for the job's nodes to `near`; "" if Slurm
// knows no switches. The caller holds slurmctld's locks of nodes and configuration, as its hooks
// do.
void near_of_job(const job_record_t *job, char near[JOB_NEAR_MAX]);

#endif
