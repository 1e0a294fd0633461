// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/config_place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct config_place {
    const void *row;
    char *where;
    struct config_place *next;
};

static bool kept;
static struct config_place *places;

void config_place_keep(void)
{
    kept = true;
}

static struct config_place *config_place_find(const void *row)
{
    struct config_place *place = places;

    while (place && place->row != row)
        place = place->next;
    return place;
}

void config_place_set(const void *row, const char *where)
{
    struct config_place *place = kept ? config_place_find(row) : NULL;

    if (!kept)
        return;
    if (!place) {
        place = calloc(1, sizeof(*place));
        if (!place)
            return;
        *place = (struct config_place){.row = row, .next = places};
        places = place;
    }
    free(place->where);
    place->where = strdup(where);
}

const char *config_place_of(const void *row)
{
    const struct config_place *place = config_place_find(row);

    return place && place->where ? place->where : "settings";
}
