// SPDX-License-Identifier: GPL-2.0-or-later
// The note in an AdminComment about what a job has used of its GPUs.
#ifndef RGPU_SLURM_BUSY_NOTE_H
#define RGPU_SLURM_BUSY_NOTE_H

#include <stdbool.h>

enum { BUSY_NOTE_MAX = 1024 };

struct busy_use {
    double seconds; // for which GPUs were busy, of all GPUs
    double held;    // seconds for which the job had them; 0: unknown
    double joules;  // 0: unknown
};

// Adds the busy time, which part of the held time that is, and the energy. Returns false if rgpu
// did not write the comment, if it has the same already, or if it cannot be rewritten unchanged.
bool busy_note(const char *comment, const struct busy_use *use, char noted[static BUSY_NOTE_MAX]);

#endif
