// SPDX-License-Identifier: BSD-3-Clause
// A passage is an event recorded in a stream. Events are created once for a context and reused.
#include "daemon/worker/account/passage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/completion.h"

struct passage {
    struct completion completion;
    CUcontext
        ending; // the event went as this context began to end, which waits for the work; NULL: none
    bool taken, recorded;
    _Atomic bool over;
    struct passage *next;
};

static struct passage *passages;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// One whose event is of CONTEXT already, or has none; else any.
static struct passage *passage_take(CUcontext context)
{
    struct passage *found = NULL;

    SCOPED_LOCK(&lock);
    for (struct passage *at = passages; at; at = at->next) {
        if (at->taken || at->ending)
            continue;
        found = at;
        if (at->completion.context == context)
            break;
    }
    if (!found && (found = calloc(1, sizeof(*found)))) {
        found->next = passages;
        passages = found;
    }
    if (found)
        found->taken = true;
    return found;
}

struct passage *passage_begin(CUcontext context, CUstream stream)
{
    struct passage *passage = passage_take(context);

    if (passage && completion_record(&passage->completion, context, stream) != CUDA_SUCCESS) {
        passage_end(passage);
        passage = NULL;
    }
    SCOPED_LOCK(&lock);
    if (passage)
        passage->recorded = true;
    return passage;
}

bool passage_is_over(const struct passage *passage)
{
    return passage && atomic_load(&passage->over);
}

// On an H200 (driver 580) memory that cuMemFreeAsync frees is the process's until a call waits for
// the work before it. A query or an allocation leaves it there, even if the allocation fails.
// So this waits for what is over.
static bool is_passed(const struct completion *completion)
{
    bool passed = completion_query(completion) != CUDA_ERROR_NOT_READY;

    if (passed)
        (void)completion_wait(completion); // a lost context's error comes from other calls, too
    return passed;
}

void passages_query(void)
{
    SCOPED_LOCK(&lock);
    for (struct passage *at = passages; at; at = at->next)
        if (at->recorded && !at->ending && !passage_is_over(at) && is_passed(&at->completion))
            atomic_store(&at->over, true);
}

void passage_end(struct passage *passage)
{
    if (!passage)
        return;
    SCOPED_LOCK(&lock);
    passage->taken = passage->recorded = false;
    passage->ending = NULL;
    atomic_store(&passage->over, false);
}

static void passage_forget_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct passage *at = passages; at; at = at->next) {
        if (at->completion.context != context)
            continue;
        at->ending = at->recorded ? context : NULL;
        completion_forget(&at->completion, context);
    }
}

void passages_end_with(CUcontext context, CUcontext root)
{
    SCOPED_LOCK(&lock);
    for (struct passage *at = passages; at; at = at->next)
        if (at->ending == context)
            at->ending = root;
}

void passages_end_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct passage *at = passages; at; at = at->next)
        if (at->ending == context)
            at->ending = NULL;
}

void passages_prepare(void)
{
    context_watch(passage_forget_context);
}
