// SPDX-License-Identifier: GPL-2.0-or-later
// Preemption for remote GPUs inside slurmctld: Slurm frees nodes for a job of higher priority, but
// a job that waits for licences preempts no other. Here it does, by Slurm's rules (PreemptType,
// PreemptMode, grace times), and only if it then gets its GPUs.
#ifndef RGPU_SLURM_PREEMPT_H
#define RGPU_SLURM_PREEMPT_H

#include "slurm-plugin/count.h"

// Adds the question of the first job that waits for GPUs and may preempt others; false: there is
// none.
bool preempt_ask(const struct slurm_settings *settings, json_t *question);
// Ends, requeues or suspends whom the answer names.
void preempt_answered(const struct slurm_settings *settings, const json_t *answer);
// Returns lent GPUs to their leases when the borrowers no longer need them. Resumes the jobs that
// have their GPUs: either again, or still because they could not be suspended.
void preempt_resume(struct broker_client *client, const struct count *count);
// Returns true if other jobs may use the GPUs that the job's lease has given back. The caller holds
// slurmctld's locks.
struct job_record;
bool preempt_lends(const struct job_record *job);

#endif
