// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/rare.h"

uint64_t rare_counts[RARE_COUNT];

void rare_note(enum rare thing)
{
    rare_counts[thing]++;
}

void rare_point(const char *point)
{
    (void)point;
}

void rare_event(const char *kind)
{
    (void)kind;
}
