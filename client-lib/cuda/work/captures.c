// SPDX-License-Identifier: BSD-3-Clause
// Applies the capture modes to the threads of this process.
#include "client-lib/cuda/work/captures.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/scope.h"

struct stream_capture {
    struct box_session *session;
    CUstream stream; // in which it began
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool into_own;  // the target is a graph that the program has made
    bool broken;    // a forbidden call has invalidated it
    uint64_t found; // handle of its graph, if the program has queried that
    struct stream_capture *next;
};

_Atomic unsigned int captures_under_way;
static struct stream_capture *captures; // protected by lock
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult capture_enter(struct box_session *session, CUstream stream, CUstreamCaptureMode mode,
                       bool into_own)
{
    struct stream_capture *capture = malloc(sizeof(*capture));
    if (!capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    SCOPED_LOCK(&lock);
    *capture = (struct stream_capture){.session = session,
                                       .stream = stream,
                                       .mode = mode,
                                       .into_own = into_own,
                                       .thread = pthread_self(),
                                       .next = captures};
    captures = capture;
    atomic_fetch_add(&session->captures, 1);
    atomic_fetch_add(&captures_under_way, 1);
    return CUDA_SUCCESS;
}

// The caller holds the lock.
static struct stream_capture **captures_find(CUstream stream)
{
    struct stream_capture **at = &captures;
    while (*at && (*at)->stream != stream)
        at = &(*at)->next;
    return at;
}

uint64_t captures_end(CUstream stream)
{
    SCOPED_LOCK(&lock);
    struct stream_capture **at = captures_find(stream), *capture = *at;
    if (!capture)
        return 0;
    uint64_t found = capture->found;
    *at = capture->next;
    atomic_fetch_sub(&capture->session->captures, 1);
    atomic_fetch_sub(&captures_under_way, 1);
    free(capture);
    return found;
}

// Finds the latest capture, since a captured stream cannot begin another.
void capture_abandon(CUstream stream)
{
    captures_end(stream);
}

void capture_note_found(CUstream stream, uint64_t graph)
{
    SCOPED_LOCK(&lock);
    struct stream_capture *capture = *captures_find(stream);
    if (capture)
        capture->found = graph;
}

uint64_t capture_found(CUstream stream)
{
    SCOPED_LOCK(&lock);
    const struct stream_capture *capture = *captures_find(stream);
    uint64_t found = capture ? capture->found : 0;
    return found;
}

bool capture_is_into_own(CUstream stream)
{
    SCOPED_LOCK(&lock);
    const struct stream_capture *capture = *captures_find(stream);
    return capture && capture->into_own;
}

bool captures_into(uint64_t graph)
{
    SCOPED_LOCK(&lock);
    const struct stream_capture *capture = captures;
    while (capture && capture->found != graph)
        capture = capture->next;
    return capture != NULL;
}

CUresult capture_may_end(CUstream stream)
{
    SCOPED_LOCK(&lock);
    const struct stream_capture *capture = *captures_find(stream);
    return capture && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                   !pthread_equal(capture->thread, pthread_self())
               ? CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
               : CUDA_SUCCESS;
}

static bool captures_forbids(const struct stream_capture *capture, CUstreamCaptureMode mine)
{
    bool own = pthread_equal(capture->thread, pthread_self());
    return own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
               : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                     mine == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

// Returns a valid capture that forbids this thread's call; NULL: there are no more. *ANY: there is
// any capture.
static CUstream next_to_break(CUstreamCaptureMode mine, bool *any)
{
    SCOPED_LOCK(&lock);
    for (struct stream_capture *c = captures; c; c = c->next) {
        if (!captures_forbids(c, mine))
            continue;
        *any = true;
        if (c->broken)
            continue;
        c->broken = true;
        return c->stream;
    }
    return NULL;
}

bool capture_forbids(void)
{
    const struct thread_state *thread = thread_state();
    CUstreamCaptureMode mine = thread ? thread->capture_mode : CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstream stream;
    bool any = false;
    if (mine == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    // Sends a query that streams under capture forbid, so that the box's driver invalidates the
    // capture.
    while ((stream = next_to_break(mine, &any)) != NULL)
        remote_cuStreamQuery(stream);
    return any;
}

CUresult capture_judge_question(CUresult answer)
{
    if (answer >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && answer <= CUDA_ERROR_CAPTURED_EVENT)
        return answer;
    return capture_forbids() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult capture_status(struct box_session *session, CUstream stream, CUstreamCaptureStatus *status)
{
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!atomic_load_explicit(&session->captures, memory_order_relaxed))
        return CUDA_SUCCESS;
    return remote_cuStreamIsCapturing(stream, status);
}
