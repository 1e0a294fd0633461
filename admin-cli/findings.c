// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/findings.h"

#include <stdarg.h>
#include <stdio.h>

static int problems;

int findings_bad(void)
{
    return problems;
}

void finding_well(const char *topic, const char *format, ...)
{
    va_list list;

    printf("%-10s ok       ", topic);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

void finding_problem(const char *topic, const char *what, const char *format, ...)
{
    va_list list;

    problems++;
    printf("%-10s problem  %s\n%-10s   to do  ", topic, what, "");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}
