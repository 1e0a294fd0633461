// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/parts/unanswered.h"

#include <pthread.h>
#include <stdbool.h>

#include "common/base/scope.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "daemon/worker/core/expected.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // protects the list
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static struct unanswered *under_way;

void unanswered_begin(struct unanswered *request, CUcontext context, CUcontext root)
{
    SCOPED_LOCK(&lock);
    *request = (struct unanswered){.context = context, .root = root, .next = under_way};
    under_way = request;
}

void unanswered_ended(struct unanswered *request)
{
    SCOPED_LOCK(&lock);
    struct unanswered **at = &under_way;

    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    pthread_cond_broadcast(&one_ended);
}

// The caller holds the lock.
static bool any_of(CUcontext context)
{
    const struct unanswered *request = under_way;

    while (request && request->context != context && request->root != context)
        request = request->next;
    return request != NULL;
}

void unanswered_await(struct serve *serve, CUcontext context)
{
    {
        SCOPED_LOCK(&lock);
        if (!any_of(context))
            return;
    }
    // The requests may wait for data that come over the link.
    serve_let_others_read(serve);
    expected_add();
    {
        SCOPED_LOCK(&lock);
        while (any_of(context))
            pthread_cond_wait(&one_ended, &lock);
    }
    expected_came();
}
