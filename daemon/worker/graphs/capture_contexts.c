// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/graphs/capture_contexts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "daemon/worker/request/context_set.h"
#include "daemon/worker/graphs/graph_parts.h"

struct capture {
    uint64_t number;
    struct context_set contexts;
    struct capture *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures; // under lock
static _Atomic unsigned capture_count;

bool capture_contexts_any(void)
{
    return atomic_load_explicit(&capture_count, memory_order_relaxed);
}

// The lock is held.
static struct capture **capture_contexts_find(uint64_t number)
{
    struct capture **at = &captures;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

bool capture_context_note(uint64_t number, uint64_t context)
{
    SCOPED_LOCK(&lock);
    struct capture **at = capture_contexts_find(number);
    if (!*at) {
        *at = calloc(1, sizeof(**at));
        if (!*at)
            return false;
        (*at)->number = number;
        atomic_fetch_add(&capture_count, 1);
    }
    return context_set_add(&(*at)->contexts, context);
}

static struct capture *capture_contexts_take(uint64_t number)
{
    SCOPED_LOCK(&lock);
    struct capture **at = capture_contexts_find(number), *found = *at;
    if (found) {
        *at = found->next;
        atomic_fetch_sub(&capture_count, 1);
    }
    return found;
}

bool capture_context_end(uint64_t number, uint64_t graph)
{
    SCOPED_FREE struct capture *ended = capture_contexts_take(number);

    if (!ended)
        return true;
    bool noted = !graph || part_need(graph, &ended->contexts, PART_NEEDS_ALSO);
    context_set_clear(&ended->contexts);
    return noted;
}
