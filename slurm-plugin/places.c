// SPDX-License-Identifier: GPL-2.0-or-later
// Places of nodes.
#include "slurm-plugin/places.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool places_has(const char *level, const char *name, size_t length)
{
    while (*level) {
        size_t size = strcspn(level, "|");
        if (size == length && !strncmp(level, name, length))
            return true;
        level += size + (level[size] != '\0');
    }
    return false;
}

static void add(char level[PLACES_LEVEL_MAX], const char *name, size_t length)
{
    size_t used = strlen(level);

    if (length == 0 || places_has(level, name, length) || used + length + 2 > PLACES_LEVEL_MAX)
        return;
    snprintf(level + used, PLACES_LEVEL_MAX - used, "%s%.*s", used ? "|" : "", (int)length, name);
}

// A switch may be missing at a level: then the address has two dots there. Names that stand for
// several switches, or would be taken apart as constraints, are no labels of a box.
static bool places_is_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr("[],|=", name[i]))
            return false;
    return length > 0;
}

void places_add(struct places *places, const char *address)
{
    const char *end = strrchr(address, '.'); // the node itself is none
    size_t level = 0;

    while (end && level < PLACES_LEVELS) {
        const char *begin = end;
        while (begin > address && begin[-1] != '.')
            begin--;
        if (places_is_name(begin, (size_t)(end - begin)))
            add(places->levels[level++], begin, (size_t)(end - begin));
        end = begin > address ? begin - 1 : NULL;
    }
}

void places_print(const struct places *places, char *text, size_t size)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < PLACES_LEVELS; i++) {
        size_t length = strlen(places->levels[i]);
        if (length == 0 || used + length + sizeof(",near=") > size)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%snear=%s", used ? "," : "",
                                 places->levels[i]);
    }
}
