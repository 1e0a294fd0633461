// SPDX-License-Identifier: GPL-2.0-or-later
// See lent.h.
#include "slurm-plugin/base/lent.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENT "rgpu: suspended, its GPUs are lent to job "
#define REFUSED "rgpu: its GPUs cannot be lent: "

static bool begins(const char *comment, const char *with)
{
    return comment && !strncmp(comment, with, strlen(with));
}

void lent_text(uint32_t borrower, char text[static LENT_TEXT_MAX])
{
    snprintf(text, LENT_TEXT_MAX, LENT "%" PRIu32, borrower);
}

uint32_t lent_to(const char *comment)
{
    const char *digits = begins(comment, LENT) ? comment + strlen(LENT) : "";
    char *end;
    unsigned long number = strtoul(digits, &end, 10);

    return end != digits && !*end && number <= UINT32_MAX ? (uint32_t)number : 0;
}

void lent_refusal(const char *reason, char text[static LENT_TEXT_MAX])
{
    snprintf(text, LENT_TEXT_MAX, REFUSED "%.200s", reason);
}

bool lent_may_ask(const char *comment)
{
    return !comment || !*comment || (begins(comment, "rgpu: ") && !begins(comment, REFUSED));
}
