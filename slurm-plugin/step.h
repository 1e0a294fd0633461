// SPDX-License-Identifier: GPL-2.0-or-later
// A step's tickets on one node: chooses the step's GPUs among those of the job, and writes the
// files with the tickets. Includes none of Slurm's headers.
//
// Concurrent steps of a job get different GPUs as long as there are enough. A step locks one file
// per GPU while its slurmstepd lives, and the kernel unlocks the files even if slurmstepd crashes.
// Its tickets are locked in the same way, so that what a killed slurmstepd has left is known as
// such.
#ifndef RGPU_SLURM_STEP_H
#define RGPU_SLURM_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "slurm-plugin/plugin_settings.h"

#define STEP_GPUS_MAX 64

struct step_place {
    const char *cluster; // as slurmstepd says
    uint32_t job, step;
    uid_t uid;
    gid_t gid;
    uint32_t count;       // GPUs that Slurm gives to the step on this node, perhaps all it has
    uint32_t node, nodes; // of the job
    uint32_t step_node;   // this node's number in the step
    bool divides;         // takes GPUs that other steps do not have
    bool all;             // sees the job's other GPUs as well, after its own
};

// Held open and locked.
struct step_ticket {
    char *path; // NULL: none
    int lock;
};

struct step {
    struct slurm_settings settings;
    uint32_t gpus; // that the step has on this node
    size_t boxes;  // that a ticket of it is for, at most
    char *order;   // of the GPUs, by UUID, where it is not the ticket's; else NULL
    struct step_ticket tickets[STEP_GPUS_MAX]; // one for all ranks, or one for each rank in turn
    unsigned ticket_count;
    struct step_ticket of_job; // for all GPUs of the job, where those are for a part of them
    int locks[STEP_GPUS_MAX];
    char *lock_paths[STEP_GPUS_MAX];
    unsigned lock_count;
};

// As root. -errno, with a sentence for the user in why; step_end in any case.
__attribute__((warn_unused_result, visibility("default"))) int
step_begin(const struct step_place *place, struct step *step, char *why, size_t size);
__attribute__((visibility("default"))) void step_end(struct step *step);

#endif
