// SPDX-License-Identifier: GPL-2.0-or-later
// The counts of rgpu's licences inside slurmctld. A thread queries the broker's capacity in rounds,
// sets the counts, and wakes the scheduler when more licences are free.
#ifndef RGPU_SLURM_LICENSES_H
#define RGPU_SLURM_LICENSES_H

#include "slurm-plugin/request/job_request.h"

// Start and stop the thread.
void licenses_start(void);
void licenses_stop(void);

// Queries the broker if the pool could ever serve a job on NODES nodes, for 0.2 seconds per call at
// most. Returns the reason why it could not, valid until the thread's next call, or NULL. Returns
// NULL without a query if the request's class is counted already, the setting `impossible` is not
// "refuse", or the broker does not answer.
const char *licenses_impossible(const struct gpu_request *request, uint32_t nodes);

// Begins to count the class of a request that a job of the user OWNER makes, before the job is
// queued. Returns the reason why the class cannot be counted, valid until the thread's next call,
// or NULL. The caller holds slurmctld's lock of the configuration.
const char *licenses_want(const struct gpu_request *request, uint32_t nodes, uint32_t owner);

// Raises the totals to the numbers of LICENSES ("rgpu:4,rgpu_mem:40") until the next round, because
// slurmctld refuses to change a job to more licences than the total. The caller holds slurmctld's
// locks of the configuration and of the jobs.
void licenses_admit(const char *licenses);

// Returns the number of GPUs of the pool, in service or not, limited to the number of slurm.conf;
// 0 if it is not known.
uint64_t licenses_known(void);

// Returns true if the setting gpus_partitions names all partitions of a list, with commas between.
bool licenses_gpus_are_remote(const char *partitions);

#endif
