// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/minimize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Returns true if the faults from FIRST to LAST are not needed, which then are left out.
static bool leave_out(struct fault_filter *without, size_t first, size_t last,
                      bool (*breaks)(void *, const struct fault_filter *), void *argument)
{
    struct fault_filter fewer = *without;
    bool any = false;

    for (size_t i = first; i <= last && i < FAULTS_MAX; i++) {
        any |= !fewer.single[i];
        fewer.single[i] = true;
    }
    if (!any || !breaks(argument, &fewer))
        return !any;
    *without = fewer;
    return true;
}

void minimize(struct fault_filter *without,
              bool (*breaks)(void *argument, const struct fault_filter *without), void *argument)
{
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        struct fault_filter fewer = *without;
        fewer.kinds[kind] = true;
        if (breaks(argument, &fewer))
            *without = fewer;
    }
    for (size_t size = FAULTS_MAX / 2; size > 0; size /= 2)
        for (size_t first = 0; first < FAULTS_MAX; first += size)
            leave_out(without, first, first + size - 1, breaks, argument);
}

void minimize_print(const struct fault_filter *without)
{
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
        if (without->kinds[kind])
            printf(" --without %s", fault_kind_name((enum fault_kind)kind));
    for (size_t i = 0; i < FAULTS_MAX; i++) {
        size_t first = i;
        while (i < FAULTS_MAX && without->single[i])
            i++;
        if (i > first)
            printf(" --without %zu-%zu", first, i - 1);
    }
}

bool minimize_read(const char *text, struct fault_filter *without)
{
    char *end;
    size_t first, last;

    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
        if (!strcmp(text, fault_kind_name((enum fault_kind)kind))) {
            without->kinds[kind] = true;
            return true;
        }
    first = last = strtoul(text, &end, 10);
    if (end != text && *end == '-')
        last = strtoul(end + 1, &end, 10);
    if (end == text || *end || last >= FAULTS_MAX)
        return false;
    for (size_t i = first; i <= last; i++)
        without->single[i] = true;
    return true;
}
