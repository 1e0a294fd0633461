// SPDX-License-Identifier: GPL-2.0-or-later
// What an AdminComment that names a job's GPUs says of the time in which they were busy.
#ifndef RGPU_SLURM_BUSY_NOTE_H
#define RGPU_SLURM_BUSY_NOTE_H

#include <stdbool.h>

enum { BUSY_NOTE_MAX = 1024 };

// False: the comment is none of ours, says so already, or cannot be written again as it is.
bool busy_note(const char *comment, double seconds, char noted[static BUSY_NOTE_MAX]);

#endif
