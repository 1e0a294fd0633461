// SPDX-License-Identifier: GPL-2.0-or-later
// The tickets of a job step on one node. step_begin chooses the step's GPUs among those of the job,
// and writes a file for each ticket. Includes none of Slurm's headers.
//
// Concurrent steps of a job get different GPUs as long as there are enough. slurmstepd holds a lock
// on one file per GPU of the step, which the kernel releases even if slurmstepd crashes. It locks
// the files of tickets as well: an unlocked one is from a killed slurmstepd and is removed.
#ifndef RGPU_SLURM_STEP_H
#define RGPU_SLURM_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "slurm-plugin/base/plugin_settings.h"

#define STEP_GPUS_MAX 64

// The step on this node, described by the caller.
struct step_place {
    const char *cluster; // Slurm's ClusterName
    uint32_t job, step;
    uid_t uid; // owner of the tickets' files
    gid_t gid;
    uint32_t count;       // GPUs that Slurm grants the step on this node; may be all of the job
    uint32_t node, nodes; // index of this node in the job, from 0, and number of the job's nodes
    uint32_t step_node;   // index of this node in the step, from 0
    bool divides;         // the step gets GPUs that no other step has, if there are enough
    bool all;             // programs see all GPUs of the job, those of this node first
};

// The file of a ticket, open and locked while the step runs.
struct step_ticket {
    char *path; // NULL: no ticket
    int lock;   // descriptor of the file, which holds the lock
};

// Filled in by step_begin. The structure owns all that it points to.
struct step {
    struct slurm_settings settings;
    uint32_t gpus;   // number of the step's GPUs on this node
    bool gpus_apart; // the GPUs of one of the tickets are (nccl_preload.h)
    char *order;     // UUIDs of the GPUs with commas between, in the order for programs; NULL: the
                     // order of the ticket
    struct step_ticket tickets[STEP_GPUS_MAX]; // a single one for all ranks, or one for each rank
    unsigned ticket_count;
    struct step_ticket of_job; // for all GPUs of the job, if `tickets` are for some of them
    int locks[STEP_GPUS_MAX];  // descriptors of the GPUs' files, which hold the locks
    char *lock_paths[STEP_GPUS_MAX];
    unsigned lock_count;
};

// Begins a step; requires root. Returns 0, or -errno with a sentence for the user in WHY. The
// caller calls step_end in both cases.
__attribute__((warn_unused_result, visibility("default"))) int
step_begin(const struct step_place *place, struct step *step, char *why, size_t size);
// Removes the step's tickets, releases its GPUs, and sets STEP to zero.
__attribute__((visibility("default"))) void step_end(struct step *step);

#endif
