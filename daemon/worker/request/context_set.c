// SPDX-License-Identifier: BSD-3-Clause
// A driver crashes when it launches a graph whose context has ended, so launches check the set.
#include "daemon/worker/request/context_set.h"

#include <stdlib.h>

#include "common/base/handle_table.h"
#include "proto/wire.h"
#include "daemon/worker/core/session.h"

static bool context_set_has(const struct context_set *set, uint64_t context)
{
    for (uint32_t i = 0; i < set->more_count; i++)
        if (set->more[i] == context)
            return true;
    return set->first == context;
}

bool context_set_add(struct context_set *set, uint64_t context)
{
    if (!context || context_set_has(set, context))
        return true;
    if (!set->first) {
        set->first = context;
        return true;
    }
    uint64_t *more = realloc(set->more, (set->more_count + 1) * sizeof(*more));
    if (!more)
        return false;
    more[set->more_count++] = context;
    set->more = more;
    return true;
}

bool context_set_join(struct context_set *set, const struct context_set *other)
{
    for (uint32_t i = 0; i < other->more_count; i++)
        if (!context_set_add(set, other->more[i]))
            return false;
    return context_set_add(set, other->first);
}

static bool lives(uint64_t context)
{
    return handle_find(session.handles, context, HANDLE_CONTEXT) != NULL;
}

bool context_set_lives(const struct context_set *set)
{
    for (uint32_t i = 0; i < set->more_count; i++)
        if (!lives(set->more[i]))
            return false;
    return !set->first || lives(set->first);
}

void context_set_clear(struct context_set *set)
{
    free(set->more);
    *set = (struct context_set){0};
}
