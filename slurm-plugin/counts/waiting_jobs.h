// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs that wait: the licences that they ask for, jobs that can never run, and the reasons that
// users see. Callers of all functions hold slurmctld's locks of the configuration and of the jobs.
#ifndef RGPU_SLURM_WAITING_JOBS_H
#define RGPU_SLURM_WAITING_JOBS_H

#include "slurm-plugin/counts/class_takes.h"

// Gives a waiting job the licences that slurmctld dropped, or could not give at its submission.
void waiting_job_restore(job_record_t *job);
// Enters what a waiting job asks for and marks its class in TAKES as waited for, lets a job that
// got no GPUs try again soon, and holds a job that the pool can never serve. Returns true if its
// class is new, so that the broker has not been asked for it.
bool waiting_job_ask(job_record_t *job, struct class_takes *takes);
// Sets the reason of jobs that the scheduler left without one.
void waiting_jobs_give_reasons(void);

#endif
