// SPDX-License-Identifier: BSD-3-Clause
// Runs Slurm's commands and reads what they print.
#ifndef RGPU_ADMIN_CLI_SLURM_OUTPUT_H
#define RGPU_ADMIN_CLI_SLURM_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

// Runs a program, which is searched in PATH, without input. WORDS ends with NULL. Returns its exit
// status, 127 if it cannot be run, or -errno. *OUTPUT is what it printed, also to standard error,
// or NULL; the caller frees it.
int slurm_output_of(const char *const words[], char **output);

// Finds the line "NAME = VALUE" in the output of `scontrol show config`. VALUE is "" if there is
// none or if it is "(null)".
void slurm_output_setting(const char *config, const char *name, char *value, size_t size);
// Returns true if WORD is in LIST, whose members have commas between. A member such as
// "prep/rgpu:1" is the word "rgpu".
bool slurm_output_has(const char *list, const char *word);
// Copies the last line that is not empty.
void slurm_output_last_line(const char *output, char *line, size_t size);

#endif
