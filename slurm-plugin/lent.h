// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs that Slurm has suspended to lend their GPUs to another job. A note in their SystemComment
// says so: users read it, slurmctld keeps it, and the code that resumes the jobs finds it.
#ifndef RGPU_SLURM_LENT_H
#define RGPU_SLURM_LENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LENT_TEXT_MAX = 300 };

// The comment of a job that lends its GPUs to `borrower`.
void lent_text(uint32_t borrower, char text[static LENT_TEXT_MAX]);
// The borrower; 0: the comment, which may be NULL, is another one.
uint32_t lent_to(const char *comment);

// The comment of a job that could not be suspended and should not be tried again.
void lent_refusal(const char *reason, char text[static LENT_TEXT_MAX]);
// Returns true if a job with this comment may lend its GPUs: the comment is neither a foreign one
// nor a refusal.
bool lent_may_ask(const char *comment);

#endif
