// SPDX-License-Identifier: BSD-3-Clause
#include "broker/api/box_http.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int box_http_compare(const void *a, const void *b)
{
    return strcmp(((const struct box_http *)a)->name, ((const struct box_http *)b)->name);
}

struct box_http *box_http(void **box_states, const char *name)
{
    struct box_http *state, key = {0};
    void *node;

    snprintf(key.name, sizeof(key.name), "%s", name);
    node = tfind(&key, box_states, box_http_compare);
    if (node)
        return *(struct box_http **)node;
    state = malloc(sizeof(*state));
    if (!state)
        abort(); // out of memory, where libevent and jansson abort as well
    *state = key;
    if (!tsearch(state, box_states, box_http_compare))
        abort();
    return state;
}

void box_http_remove(void **box_states, const char *name)
{
    struct box_http *state = box_http(box_states, name);

    tdelete(state, box_states, box_http_compare);
    free(state);
}

void box_http_free(void **box_states)
{
    tdestroy(*box_states, free);
    *box_states = NULL;
}
