// SPDX-License-Identifier: GPL-2.0-or-later
// The note in an AdminComment about the time for which a job's GPUs were busy.
#ifndef RGPU_SLURM_BUSY_NOTE_H
#define RGPU_SLURM_BUSY_NOTE_H

#include <stdbool.h>

enum { BUSY_NOTE_MAX = 1024 };

// Adds SECONDS, for which the GPUs were busy, and the part of the HELD seconds of all GPUs that
// these are, unless HELD is 0. Returns false if rgpu did not write the comment, if it has the time
// already, or if it cannot be rewritten unchanged.
bool busy_note(const char *comment, double seconds, double held, char noted[static BUSY_NOTE_MAX]);

#endif
