// SPDX-License-Identifier: BSD-3-Clause
// Lists of texts in JSON.
#ifndef RGPU_COMMON_JSON_LIST_H
#define RGPU_COMMON_JSON_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

// Returns true if LIST has TEXT. False if LIST is no list (NULL).
static inline bool json_list_has(const json_t *list, const char *text)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
        if (json_is_string(entry) && !strcmp(json_string_value(entry), text))
            return true;
    return false;
}

#endif
