// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs that were suspended to lend their GPUs to another job, the borrower. Their SystemComment
// names it: users can read the comment, slurmctld keeps it over a restart, and the code that
// resumes the jobs finds them by it. Numbers of jobs are Slurm's.
#ifndef RGPU_SLURM_LENT_H
#define RGPU_SLURM_LENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LENT_TEXT_MAX = 300 };

// Writes the comment of a job that lends its GPUs to the job `borrower`.
void lent_text(uint32_t borrower, char text[static LENT_TEXT_MAX]);
// Returns the borrower in a comment; 0 if COMMENT is NULL or has another content.
uint32_t lent_to(const char *comment);

// Writes the comment of a job that could not be suspended, so that the plugin does not try again.
void lent_refusal(const char *reason, char text[static LENT_TEXT_MAX]);
// Returns true if a job with this comment may be suspended to lend its GPUs: COMMENT is NULL,
// empty, or rgpu's but not of lent_refusal.
bool lent_may_ask(const char *comment);

#endif
