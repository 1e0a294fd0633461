// SPDX-License-Identifier: GPL-2.0-or-later
// The part of rgpu-slurm-sync that talks to slurmdbd: it updates the records of ended jobs.
#ifndef RGPU_SLURM_SYNC_ACCOUNTING_H
#define RGPU_SLURM_SYNC_ACCOUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "slurm-plugin/sync/busy_note.h"

struct accounts; // a connection to slurmdbd

enum accounting_outcome {
    ACCOUNTING_DONE,  // it stands there, or belongs nowhere
    ACCOUNTING_LATER, // there is no record of the job's end yet
    ACCOUNTING_AWAY,  // slurmdbd does not answer
};

// NULL: slurmdbd keeps no accounts for this cluster (`*none` is true), or it does not answer.
struct accounts *accounting_open(bool *none);
void accounting_close(struct accounts **accounts);
// Appends what a job's run has used of its GPUs to the list of GPUs in its AdminComment.
enum accounting_outcome accounting_note_busy(const struct accounts *accounts, uint32_t job,
                                             time_t start, const struct busy_use *use);

#endif
