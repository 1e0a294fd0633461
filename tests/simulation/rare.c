// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/rare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct {
    const char *name, *event;
} things[] = {
#define RARE_ROW_(name, event) {#name, event},
    RARE_THINGS(RARE_ROW_)
#undef RARE_ROW_
};

static uint64_t *counts;

void rare_open(void)
{
    counts = mmap(NULL, RARE_COUNT * sizeof(*counts), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED)
        abort();
}

void rare_note(enum rare thing)
{
    counts[thing]++;
}

void rare_event(const char *kind)
{
    for (int i = 0; i < RARE_COUNT; i++)
        if (!strcmp(things[i].event, kind))
            counts[i]++;
}

bool rare_report(void)
{
    bool all = true;

    for (int i = 0; i < RARE_COUNT; i++) {
        printf("%10llu %s\n", (unsigned long long)counts[i], things[i].name);
        if (!counts[i])
            printf("BROKEN: %s never happened\n", things[i].name);
        all &= counts[i] > 0;
    }
    return all;
}
