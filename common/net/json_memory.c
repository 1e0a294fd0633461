// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/json_memory.h"

#include <jansson.h>
#include <stdlib.h>

static void *json_memory_allocate(size_t size)
{
    void *memory = malloc(size);

    if (!memory)
        abort();
    return memory;
}

void json_memory_set_up(void)
{
    json_set_alloc_funcs(json_memory_allocate, free);
}
