// SPDX-License-Identifier: GPL-2.0-or-later
// Preemption for remote GPUs inside slurmctld. Slurm preempts jobs for nodes, but never for
// licences. This code preempts jobs for a job that waits for rgpu's licences, by Slurm's rules
// (PreemptType, PreemptMode, grace times), and only if the waiting job then gets its GPUs.
#ifndef RGPU_SLURM_PREEMPT_H
#define RGPU_SLURM_PREEMPT_H

#include "slurm-plugin/counts/count.h"

// Adds to the capacity question which jobs the first waiting job should preempt. Returns false
// without a job that waits for GPUs and may preempt others. Takes slurmctld's locks.
bool preempt_ask(const struct slurm_settings *settings, json_t *question);
// Ends, requeues or suspends the jobs that the answer names. Takes slurmctld's locks.
void preempt_answered(const struct slurm_settings *settings, const json_t *answer);
// Resumes the leases of jobs that lend their GPUs when the borrowers no longer need these. Resumes
// such jobs themselves when their leases have GPUs: after the lease has resumed, or because it
// could not be suspended. Takes slurmctld's locks.
void preempt_resume(struct broker_client *client, const struct count *count);
// Returns true if other jobs may use the GPUs that the job's lease has given back: the job is
// suspended, and its borrower, if it has one, has not ended. The caller holds slurmctld's locks.
struct job_record;
bool preempt_lends(const struct job_record *job);

#endif
