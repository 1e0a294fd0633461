// SPDX-License-Identifier: BSD-3-Clause
// The report of rgpuctl doctor, line by line.
#ifndef RGPU_ADMIN_CLI_FINDINGS_H
#define RGPU_ADMIN_CLI_FINDINGS_H

void finding_well(const char *topic, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints a problem: WHAT is wrong, and with FORMAT the remedy.
void finding_problem(const char *topic, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Returns the number of problems.
int findings_bad(void);

#endif
