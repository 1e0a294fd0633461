// SPDX-License-Identifier: BSD-3-Clause
// Matches command line options "--some-name" or "--some-name=value" with the setting some_name.
#ifndef RGPU_COMMON_CONFIG_ARGUMENT_H
#define RGPU_COMMON_CONFIG_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// Sets *VALUE to the text after '=', or NULL.
static inline bool config_argument_is(const char *argument, const char *name, const char **value)
{
    size_t i = 0, n;

    if (strncmp(argument, "--", 2))
        return false;
    argument += 2;
    n = strcspn(argument, "=");
    while (i < n && name[i] && argument[i] == (name[i] == '_' ? '-' : name[i]))
        i++;
    if (i < n || name[i])
        return false;
    *value = argument[n] ? argument + n + 1 : NULL;
    return true;
}

static inline void config_argument_place(const char *argument, char *where, size_t size)
{
    snprintf(where, size, "command line: %.*s", (int)strcspn(argument, "="), argument);
}

#endif
