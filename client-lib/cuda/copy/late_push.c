// SPDX-License-Identifier: BSD-3-Clause
// Late pushes, and the thread that sends their data when it is due.
#include "client-lib/cuda/copy/late_push.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "common/base/scope.h"

enum { LATE_MAX = 32 }; // limit at a time; each holds a stream of the worker

struct late {
    struct box_session *session;
    uint32_t job;
    const void *src;
    size_t size;
    struct late *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t due_now = PTHREAD_COND_INITIALIZER;
static struct late *waiting; // the box has not requested their data yet
static struct late *due, **due_end = &due;
static unsigned int count; // of both lists
static bool running;

static struct late *late_push_next_due(void)
{
    SCOPED_LOCK(&lock);
    while (!due)
        pthread_cond_wait(&due_now, &lock);
    struct late *late = due;
    due = late->next;
    if (!due)
        due_end = &due;
    return late;
}

static void *send_due(void *unused)
{
    for (;;) {
        struct late *late = late_push_next_due();
        streamed_blocks(late->session, late->job, late->src, late->size);
        session_expect(late->session, -1);
        free(late);
        SCOPED_LOCK(&lock);
        count--;
    }
    return NULL;
}

// The caller holds the lock.
static bool start_once(void)
{
    running = running || thread_start(send_due, NULL);
    return running;
}

static struct late *late_push_take_waiting(const struct box_session *session, uint32_t job)
{
    struct late **at = &waiting;
    while (*at && ((*at)->session != session || (*at)->job != job))
        at = &(*at)->next;
    struct late *found = *at;
    if (found)
        *at = found->next;
    return found;
}

// Registers a push whose data the box will request. Returns NULL if too many are under way, or if
// there is no memory or no thread for it.
static struct late *late_push_enter(struct box_session *session, const void *src, size_t size)
{
    struct late *late = malloc(sizeof(*late));
    if (!late)
        return NULL;
    SCOPED_LOCK(&lock);
    if (count == LATE_MAX || !start_once()) {
        free(late);
        return NULL;
    }
    *late = (struct late){session, session_new_job(session), src, size, waiting};
    waiting = late;
    count++;
    return late;
}

static void late_push_forget(struct box_session *session, uint32_t job)
{
    SCOPED_LOCK(&lock);
    free(late_push_take_waiting(session, job));
    count--;
}

bool late_push(struct box_session *session, CUdeviceptr dst, const void *src, size_t size,
               CUstream stream, CUresult *result)
{
    struct late *late = late_push_enter(session, src, size);
    if (!late)
        return false;
    uint32_t job = late->job;
    session_expect(session, 1);
    *result = remote_push_begin(job, dst, size, stream, true);
    if (*result != CUDA_SUCCESS) {
        late_push_forget(session, job);
        session_expect(session, -1);
    }
    return true;
}

static bool make_due(struct box_session *session, uint32_t job)
{
    SCOPED_LOCK(&lock);
    struct late *found = late_push_take_waiting(session, job);
    if (!found)
        return false;
    found->next = NULL;
    *due_end = found;
    due_end = &found->next;
    pthread_cond_signal(&due_now);
    return true;
}

void late_push_due(struct box_session *session, uint32_t job)
{
    if (!make_due(session, job))
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, "data was wanted that is not there");
}
