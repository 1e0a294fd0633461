// SPDX-License-Identifier: BSD-3-Clause
// The driver keeps the memory of a destroyed stream for the next one, until the context ends. So
// the maximum number of concurrent streams of a context counts.
#include "daemon/worker/account/stream_cost.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/account/passage.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/gpus.h"

// On an H200 (driver 580) 64 streams took 34 MiB, 64 more after their end nothing, and 256 took 140
// MiB.
enum { STREAM_BYTES = 560 * 1024 };

struct stream_cost {
    CUstream stream; // NULL: destroyed, or not made yet
    CUcontext context, root;
    struct passage *passage; // after which its memory is another stream's
    struct stream_cost *next;
};

static struct stream_cost *costs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Under lock, as all that follows.
static void stream_cost_take_out(struct stream_cost **at)
{
    struct stream_cost *gone = *at;

    *at = gone->next;
    passage_end(gone->passage);
    free(gone);
}

static uint64_t stream_cost_count(CUcontext root)
{
    uint64_t streams = 0;

    for (struct stream_cost **at = &costs; *at;) {
        if (passage_is_over((*at)->passage)) {
            stream_cost_take_out(at);
            continue;
        }
        streams += (*at)->root == root;
        at = &(*at)->next;
    }
    return streams;
}

CUresult stream_cost_take(CUcontext context, CUcontext root, int device, struct stream_cost **out)
{
    *out = NULL;
    // As long as it is not known how the driver takes memory, it is no GPU's.
    if (!charges_apply(device) || !gpus.list[device].page)
        return CUDA_SUCCESS;
    struct stream_cost *cost = calloc(1, sizeof(*cost));
    if (!cost)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *cost = (struct stream_cost){.context = context, .root = root};
    passages_query();
    SCOPED_LOCK(&lock);
    bool fits =
        charge_at_least(root, PART_STREAMS, device, (stream_cost_count(root) + 1) * STREAM_BYTES);
    if (fits) {
        cost->next = costs;
        costs = cost;
        *out = cost;
    } else {
        free(cost);
    }
    return fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void stream_cost_is(struct stream_cost *cost, CUstream stream)
{
    SCOPED_LOCK(&lock);
    if (cost)
        cost->stream = stream;
}

void stream_cost_give(struct stream_cost *cost)
{
    SCOPED_LOCK(&lock);
    for (struct stream_cost **at = &costs; cost && *at; at = &(*at)->next)
        if (*at == cost) {
            stream_cost_take_out(at);
            return;
        }
}

void stream_cost_end(CUstream stream, struct passage *passage)
{
    SCOPED_LOCK(&lock);
    struct stream_cost **at = &costs;
    while (*at && (*at)->stream != stream)
        at = &(*at)->next;
    if (*at && passage) {
        (*at)->stream = NULL; // another stream may have its name
        (*at)->passage = passage;
        return;
    }
    passage_end(passage);
    if (*at)
        stream_cost_take_out(at);
}

static void stream_cost_leave_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct stream_cost **at = &costs; *at;)
        if ((*at)->context == context || (*at)->root == context)
            stream_cost_take_out(at);
        else
            at = &(*at)->next;
}

void stream_costs_prepare(void)
{
    context_watch(stream_cost_leave_context);
}
