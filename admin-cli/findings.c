// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "admin-cli/output/colour.h"

static int problems;
static bool as_json;

int findings_bad(void)
{
    return problems;
}

void findings_as_json(bool json)
{
    as_json = json;
}

bool findings_are_json(void)
{
    return as_json;
}

void finding_print_row(json_t *row, const char *topic, const char *state)
{
    json_t *whole = json_pack("{s:s, s:s}", "topic", topic, "state", state);

    // Texts of others may hold bytes that are not UTF-8, and then there is no row.
    if (row)
        json_object_update(whole, row);
    json_dumpf(whole, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(whole);
    json_decref(row);
}

static void finding_print(const char *topic, const char *state, const char *text, const char *to_do)
{
    const char *colour = colour_of(state);

    if (as_json)
        finding_print_row(json_pack("{s:s, s:s*}", "text", text, "to_do", to_do), topic, state);
    else
        printf("%-10s %s%-8s%s %s\n", topic, colour ? colour : "", state, colour ? COLOUR_OFF : "",
               text);
    if (!as_json && to_do)
        printf("%-10s   to do  %s\n", "", to_do);
}

void finding_well(const char *topic, const char *format, ...)
{
    char text[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    finding_print(topic, "ok", text, NULL);
}

void finding_problem(const char *topic, const char *what, const char *format, ...)
{
    char text[1024];
    va_list list;

    problems++;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    finding_print(topic, "problem", what, text);
}
