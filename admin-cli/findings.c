// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/findings.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

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

// Texts of others may hold bytes that are not UTF-8.
static void finding_print_json(const char *topic, const char *state, const char *text,
                               const char *to_do)
{
    json_t *row = json_pack("{s:s, s:s, s:s, s:s*}", "topic", topic, "state", state, "text", text,
                            "to_do", to_do);

    if (row) {
        json_dumpf(row, stdout, JSON_COMPACT);
        putchar('\n');
    } else {
        printf("{\"topic\":\"%s\",\"state\":\"%s\"}\n", topic, state);
    }
    json_decref(row);
}

void finding_well(const char *topic, const char *format, ...)
{
    char text[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (as_json)
        finding_print_json(topic, "ok", text, NULL);
    else
        printf("%-10s ok       %s\n", topic, text);
}

void finding_problem(const char *topic, const char *what, const char *format, ...)
{
    char text[1024];
    va_list list;

    problems++;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (as_json)
        finding_print_json(topic, "problem", what, text);
    else
        printf("%-10s problem  %s\n%-10s   to do  %s\n", topic, what, "", text);
}
