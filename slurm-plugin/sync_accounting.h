// SPDX-License-Identifier: GPL-2.0-or-later
// rgpu-slurm-sync's half towards slurmdbd: what is written to the records of jobs that have ended.
#ifndef RGPU_SLURM_SYNC_ACCOUNTING_H
#define RGPU_SLURM_SYNC_ACCOUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct accounts; // a connection to slurmdbd

enum accounting_outcome {
    ACCOUNTING_DONE,  // it stands there, or belongs nowhere
    ACCOUNTING_LATER, // there is no record of the job's end yet
    ACCOUNTING_AWAY,  // slurmdbd does not answer
};

// NULL: slurmdbd keeps no accounts for this cluster (`*none` is true), or it does not answer.
struct accounts *accounting_open(bool *none);
void accounting_close(struct accounts **accounts);
// For how long GPUs were busy for a run of a job, behind what its AdminComment says of its GPUs.
enum accounting_outcome accounting_note_busy(const struct accounts *accounts, uint32_t job,
                                             time_t start, double seconds);

#endif
