// SPDX-License-Identifier: GPL-2.0-or-later
// The counts of rgpu's licences inside slurmctld: a thread sets them to the pool's capacity, and
// wakes the scheduler when they grow.
#ifndef RGPU_SLURM_LICENSES_H
#define RGPU_SLURM_LICENSES_H

#include "slurm-plugin/job_request.h"

void licenses_start(void);
void licenses_stop(void);

// Asks the broker if the pool could ever serve a request; returns why it could not, or NULL. Does
// not ask for requests that jobs wait for already, nor while the broker does not answer.
const char *licenses_impossible(const struct gpu_request *request, uint32_t nodes);

// A job of OWNER with this request is about to be queued: its class is counted from now on. Returns
// why it is not, or NULL. Called with slurmctld's configuration locked.
const char *licenses_want(const struct gpu_request *request, uint32_t nodes, uint32_t owner);

// slurmctld refuses a change of a job to more licences than there are just now: until the next
// look, there are as many of each as these. Called with configuration and jobs locked.
void licenses_admit(const char *licenses);

// GPUs that the pool has, in service or not, at most those that slurm.conf lets this cluster have;
// 0: not known.
uint64_t licenses_known(void);

#endif
