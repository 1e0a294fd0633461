// SPDX-License-Identifier: GPL-2.0-or-later
// Preemption for remote GPUs inside slurmctld: Slurm frees nodes for a job of higher priority, but
// a job that waits for licences preempts nobody. Here it does, by the rules that Slurm has for it
// (PreemptType, PreemptMode, grace times), and only where it then gets its GPUs.
#ifndef RGPU_SLURM_PREEMPT_H
#define RGPU_SLURM_PREEMPT_H

#include "slurm-plugin/count.h"

// Adds the question of the first job that waits for GPUs and may preempt others; false: there is none.
bool preempt_ask(const struct slurm_settings *settings, json_t *question);
// Ends, requeues or suspends whom the answer names.
void preempt_answered(const struct slurm_settings *settings, const json_t *answer);
// Has leases return whose GPUs were lent to jobs that need them no more, and resumes the jobs that have theirs: back, or
// still, where they could not be suspended.
void preempt_resume(struct broker_client *client, const struct count *count);
// Under slurmctld's locks: whether others may have what the job's lease has given back.
struct job_record;
bool preempt_lends(const struct job_record *job);

#endif
