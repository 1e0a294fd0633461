// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which the scheduler considers waiting jobs.
#ifndef RGPU_SLURM_JOB_ORDER_H
#define RGPU_SLURM_JOB_ORDER_H

#include "slurm-plugin/base/slurm_headers.h"

// Returns true if the scheduler considers JOB before OTHER.
bool job_order_before(const job_record_t *job, const job_record_t *other);
// Returns true if the job is pending only because of its priority or of missing licences.
bool job_order_waits(const job_record_t *job);
// Returns the first job that waits for remote GPUs, or NULL. The caller holds slurmctld's lock of
// the jobs.
job_record_t *job_order_first(void);

#endif
