// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs that Slurm has suspended so that another one may have their GPUs: what they say of that in their SystemComment, where
// users read it, slurmctld keeps it, and whoever resumes them finds it.
#ifndef RGPU_SLURM_LENT_H
#define RGPU_SLURM_LENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LENT_TEXT_MAX = 300 };

// What a job says that lends its GPUs to `borrower`.
void lent_text(uint32_t borrower, char text[static LENT_TEXT_MAX]);
// The borrower; 0: the comment, which may be NULL, is another one.
uint32_t lent_to(const char *comment);

// What a job says that could not be suspended, and that nobody should try again.
void lent_refusal(const char *reason, char text[static LENT_TEXT_MAX]);
// Whether a job with this comment may be asked for its GPUs: it is none of somebody else's, and no refusal.
bool lent_may_ask(const char *comment);

#endif
