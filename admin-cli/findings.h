// SPDX-License-Identifier: BSD-3-Clause
// Prints the lines of `rgpuctl doctor`, `ping` and `slurm-check`.
#ifndef RGPU_ADMIN_CLI_FINDINGS_H
#define RGPU_ADMIN_CLI_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>

// Chooses if findings are printed as JSON objects with the members "topic", "state" (ok or
// problem), "text" and, of a problem, "to_do".
void findings_as_json(bool json);
bool findings_are_json(void);
// Prints a JSON object with further members, and frees it. ROW may be NULL, without any.
void finding_print_row(json_t *row, const char *topic, const char *state);
void finding_well(const char *topic, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints a problem: WHAT is wrong, and the remedy (FORMAT).
void finding_problem(const char *topic, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Returns the number of problems printed.
int findings_bad(void);

#endif
