// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/execute/array_uses.h"

#include <stdlib.h>

struct array_use {
    const void *array;
    void *memory;
    struct array_use *next;
};

static struct array_use *uses;

int array_use_add(const void *array, void *memory)
{
    struct array_use *use = uses;

    while (use && (use->array != array || use->memory != memory))
        use = use->next;
    if (use)
        return 0;
    use = malloc(sizeof(*use));
    if (!use)
        return -1;
    *use = (struct array_use){array, memory, uses};
    uses = use;
    return 1;
}

void *array_use_take(const void *array)
{
    struct array_use **at = &uses;

    while (*at && (*at)->array != array)
        at = &(*at)->next;
    if (!*at)
        return NULL;
    struct array_use *use = *at;
    void *memory = use->memory;
    *at = use->next;
    free(use);
    return memory;
}
