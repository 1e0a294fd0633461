// SPDX-License-Identifier: GPL-2.0-or-later
// What jobs take of each class (gpu_request_class), in their own lists of licences: those that hold
// GPUs, and those that wait, so that slurmctld starts no two jobs for the same GPUs.
#ifndef RGPU_SLURM_CLASS_TAKES_H
#define RGPU_SLURM_CLASS_TAKES_H

#include "slurm-plugin/base/slurm_headers.h"
#include "slurm-plugin/counts/count.h"

// By the classes' indices in COUNT, an answer of the broker.
struct class_takes {
    struct count *count;
    uint64_t known; // GPUs of the pool that this cluster may have, in service or not; 0: not known
    uint64_t total[COUNT_CLASSES_MAX], used[COUNT_CLASSES_MAX];
    bool waiting[COUNT_CLASSES_MAX]; // jobs wait for the class
};

// Returns true for a job that holds GPUs of the pool, or is acquiring or releasing them.
bool class_takes_is_holder(const job_record_t *job);

// Enters into the lists of all jobs what they take of the totals, and sets what is used. The caller
// holds slurmctld's locks of the configuration and of the jobs.
void class_takes_enter(struct class_takes *takes);

#endif
