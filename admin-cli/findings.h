// SPDX-License-Identifier: BSD-3-Clause
// Prints the lines of `rgpuctl doctor` and `rgpuctl slurm-check`.
#ifndef RGPU_ADMIN_CLI_FINDINGS_H
#define RGPU_ADMIN_CLI_FINDINGS_H

#include <stdbool.h>

// Chooses if findings are printed as JSON objects with the members "topic", "state" (ok or
// problem), "text" and, of a problem, "to_do".
void findings_as_json(bool json);
void finding_well(const char *topic, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints a problem: WHAT is wrong, and the remedy (FORMAT).
void finding_problem(const char *topic, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Returns the number of problems printed.
int findings_bad(void);

#endif
