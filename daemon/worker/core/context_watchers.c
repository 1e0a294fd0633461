// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/core/context_watchers.h"

#include <stdlib.h>

#include "common/base/log.h"

enum { WATCHERS_MAX = 24 };

static void (*watchers[WATCHERS_MAX])(CUcontext context);
static unsigned watcher_count;

void context_watch(void (*forget)(CUcontext context))
{
    if (watcher_count == WATCHERS_MAX) {
        log_error("more than %d parts of the worker watch contexts", WATCHERS_MAX);
        abort();
    }
    watchers[watcher_count++] = forget;
}

void contexts_forget(CUcontext context)
{
    for (unsigned i = 0; i < watcher_count; i++)
        watchers[i](context);
}
