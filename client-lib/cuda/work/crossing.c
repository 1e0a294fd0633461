// SPDX-License-Identifier: BSD-3-Clause
// A stream of one box waits for an event of another: the stream waits on a stream semaphore, the
// other box watches the latest recording of the event, and a thread signals the semaphore when that
// box reports it. If the event can never be reached, because its context has failed or its box is
// lost, the waiting stream's context fails as well: later work in the stream would compute with
// missing data.
#include "client-lib/cuda/work/crossing.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "common/base/log.h"
#include "common/base/scope.h"

struct crossing {
    uint32_t number; // number of the watch and of the semaphore
    struct box_session *from, *to;
    uint64_t context; // of the waiting stream
    bool held;        // the semaphore exists
    bool dropped;     // the semaphore will never exist
    bool reached;
    CUresult result;
    struct crossing *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t due_now = PTHREAD_COND_INITIALIZER;
static struct crossing *waiting;
static struct crossing *due, **due_end = &due;
static uint32_t last_number;
static bool running;

// ---- the thread that signals semaphores ----

static void crossing_fail_context(const struct crossing *crossing)
{
    struct object *context = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)crossing->context);
    int fine = 0;
    log_error("a stream waits for an event that will not come; its context fails box=%s "
              "event_box=%s result=%d",
              crossing->to->box, crossing->from->box, (int)crossing->result);
    if (context)
        atomic_compare_exchange_strong(&context->ctx.sticky, &fine, (int)crossing->result);
}

static void crossing_signal(const struct crossing *crossing)
{
    struct call call = {.session = crossing->to, .op = OP_semaphore_signal};
    struct args_semaphore_signal *args = call_reserve(&call, sizeof(*args));
    if (!args)
        return; // the session is lost, and the stream with it
    args->semaphore = crossing->number;
    call_post(&call);
    link_flush(crossing->to->link);
}

static struct crossing *crossing_next_due(void)
{
    SCOPED_LOCK(&lock);
    while (!due)
        pthread_cond_wait(&due_now, &lock);
    struct crossing *crossing = due;
    due = crossing->next;
    if (!due)
        due_end = &due;
    return crossing;
}

static void *open_due(void *unused)
{
    for (;;) {
        struct crossing *crossing = crossing_next_due();
        staging_deliver(crossing->from);
        if (crossing->result != CUDA_SUCCESS)
            crossing_fail_context(crossing);
        crossing_signal(crossing);
        session_expect(crossing->to, -1);
        free(crossing);
    }
    return NULL;
}

// ---- events and semaphores ----

// Continues a crossing if both of its sides are known. The caller holds the lock.
static void crossing_settle(struct crossing **at)
{
    struct crossing *crossing = *at;
    if (!crossing->reached || !(crossing->held || crossing->dropped))
        return;
    *at = crossing->next;
    if (crossing->dropped) {
        free(crossing);
        return;
    }
    crossing->next = NULL;
    *due_end = crossing;
    due_end = &crossing->next;
    pthread_cond_signal(&due_now);
}

static struct crossing **crossing_find(uint32_t number)
{
    struct crossing **at = &waiting;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

// Returns NULL without memory or a thread.
static struct crossing *crossing_begin(struct box_session *from, const struct object *context)
{
    struct crossing *crossing = calloc(1, sizeof(*crossing));
    if (!crossing)
        return NULL;
    SCOPED_LOCK(&lock);
    running = running || thread_start(open_due, NULL);
    if (!running) {
        free(crossing);
        return NULL;
    }
    do {
        last_number++;
    } while (!last_number || *crossing_find(last_number));
    *crossing = (struct crossing){.number = last_number,
                                  .from = from,
                                  .to = context->session,
                                  .context = context->handle,
                                  .next = waiting};
    waiting = crossing;
    return crossing;
}

// The watch has not begun, so no event will come.
static void crossing_forget(uint32_t number)
{
    SCOPED_LOCK(&lock);
    struct crossing **at = crossing_find(number), *crossing = *at;
    if (crossing)
        *at = crossing->next;
    free(crossing);
}

// Notes that the semaphore exists, or that it never will.
static void note_semaphore(uint32_t number, bool held)
{
    SCOPED_LOCK(&lock);
    struct crossing **at = crossing_find(number);
    (*at)->held = held;
    (*at)->dropped = !held;
    crossing_settle(at);
}

static CUresult crossing_refuse_capture(const struct box_session *from,
                                        const struct box_session *to)
{
    log_error("a stream of one box cannot join the capture of another: no graph is of two boxes "
              "box=%s other=%s",
              to->box, from->box);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult crossing_wait(CUstream stream, const struct object *context, const struct object *event)
{
    struct box_session *from = event->session, *to = context->session;
    struct crossing *crossing = crossing_begin(from, context);
    uint32_t reached = 0;
    if (!crossing)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t number = crossing->number;
    session_expect(from, 1);
    CUresult result = remote_event_watch(number, (CUevent)(uintptr_t)event->handle, &reached);
    if (result != CUDA_SUCCESS || reached) {
        session_expect(from, -1);
        crossing_forget(number);
        return result == CUDA_ERROR_CAPTURED_EVENT ? crossing_refuse_capture(from, to) : result;
    }
    session_expect(to, 1);
    result = remote_semaphore_wait(number, stream);
    note_semaphore(number, result == CUDA_SUCCESS);
    if (result != CUDA_SUCCESS)
        session_expect(to, -1);
    return result;
}

static bool crossing_note_reached(const struct box_session *session,
                                  const struct wire_reached *reached)
{
    SCOPED_LOCK(&lock);
    struct crossing **at = crossing_find(reached->watch);
    if (!*at || (*at)->from != session || (*at)->reached)
        return false;
    (*at)->reached = true;
    (*at)->result = (CUresult)reached->result;
    crossing_settle(at);
    return true;
}

void crossing_reached(struct box_session *session, const struct wire_reached *reached)
{
    if (crossing_note_reached(session, reached))
        session_expect(session, -1);
    else
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, "an event that was not asked for");
}

void crossing_lost(struct box_session *session)
{
    SCOPED_LOCK(&lock);
    for (struct crossing **at = &waiting, *crossing; (crossing = *at) != NULL;) {
        if (crossing->from == session && !crossing->reached) {
            crossing->reached = true;
            crossing->result = session_lost(session);
            crossing_settle(at);
        }
        if (*at == crossing)
            at = &crossing->next;
    }
}
