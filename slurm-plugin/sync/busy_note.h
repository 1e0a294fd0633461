// SPDX-License-Identifier: GPL-2.0-or-later
// The note in an AdminComment about the time for which a job's GPUs were busy.
#ifndef RGPU_SLURM_BUSY_NOTE_H
#define RGPU_SLURM_BUSY_NOTE_H

#include <stdbool.h>

enum { BUSY_NOTE_MAX = 1024 };

// Returns false if rgpu did not write the comment, if it has the time already, or if it cannot be
// rewritten unchanged.
bool busy_note(const char *comment, double seconds, char noted[static BUSY_NOTE_MAX]);

#endif
