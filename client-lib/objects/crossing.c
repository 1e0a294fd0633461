// SPDX-License-Identifier: BSD-3-Clause
// A stream of one box that waits for an event of another: the stream is held at a gate, the other box
// watches the event as it was recorded last, and a thread opens the gate when word comes that it has
// come. Where it never will, since that context has failed or that box is lost, the waiting stream's
// context fails as well: what comes behind the gate would compute with data that is not there.
#include "client-lib/objects/crossing.h"

#include <pthread.h>
#include <stdlib.h>

#include "client-lib/objects/call.h"
#include "client-lib/objects/thread.h"
#include "client-lib/session/staging_blocks.h"
#include "client-lib/session/waiting.h"
#include "client_calls.h"
#include "common/log.h"
#include "common/scope.h"

struct crossing {
    uint32_t number; // of the watch, and of the gate
    struct box_session *from, *to;
    uint64_t context; // of the waiting stream
    bool held;        // the gate is there
    bool dropped;     // and never will be
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

// ---- the thread that opens gates ----

static void fail_context(const struct crossing *crossing)
{
    struct object *context = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)crossing->context);
    int fine = 0;
    log_error("a stream waits for an event that will not come; its context fails box=%s "
              "event_box=%s result=%d",
              crossing->to->box, crossing->from->box, (int)crossing->result);
    if (context)
        atomic_compare_exchange_strong(&context->ctx.sticky, &fine, (int)crossing->result);
}

static void open_gate(const struct crossing *crossing)
{
    struct call call = {.session = crossing->to, .op = OP_gate_open};
    struct args_gate_open *args = call_reserve(&call, sizeof(*args));
    if (!args)
        return; // the session is lost, and the stream with it
    args->gate = crossing->number;
    call_post(&call);
    link_flush(crossing->to->link);
}

static struct crossing *next_due(void)
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
        struct crossing *crossing = next_due();
        staging_deliver(crossing->from);
        if (crossing->result != CUDA_SUCCESS)
            fail_context(crossing);
        open_gate(crossing);
        session_expect(crossing->to, -1);
        free(crossing);
    }
    return NULL;
}

// ---- what has come, and what stands open ----

// Acts on a crossing both of whose sides are known. Under lock.
static void settle(struct crossing **at)
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

static struct crossing **find(uint32_t number)
{
    struct crossing **at = &waiting;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

// NULL: there is no memory, or no thread can be had.
static struct crossing *begin(struct box_session *from, const struct object *context)
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
    } while (!last_number || *find(last_number));
    *crossing = (struct crossing){.number = last_number,
                                  .from = from,
                                  .to = context->session,
                                  .context = context->handle,
                                  .next = waiting};
    waiting = crossing;
    return crossing;
}

// The watch has not begun, so that nothing will come.
static void forget(uint32_t number)
{
    SCOPED_LOCK(&lock);
    struct crossing **at = find(number), *crossing = *at;
    if (crossing)
        *at = crossing->next;
    free(crossing);
}

// The gate stands or, where it could not be had, never will.
static void note_gate(uint32_t number, bool held)
{
    SCOPED_LOCK(&lock);
    struct crossing **at = find(number);
    (*at)->held = held;
    (*at)->dropped = !held;
    settle(at);
}

static CUresult refuse_capture(const struct box_session *from, const struct box_session *to)
{
    log_error("a stream of one box cannot join the capture of another: no graph is of two boxes "
              "box=%s other=%s",
              to->box, from->box);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult crossing_wait(CUstream stream, const struct object *context, const struct object *event)
{
    struct box_session *from = event->session, *to = context->session;
    struct crossing *crossing = begin(from, context);
    uint32_t reached = 0;
    if (!crossing)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t number = crossing->number;
    session_expect(from, 1);
    CUresult result = remote_event_watch(number, (CUevent)(uintptr_t)event->handle, &reached);
    if (result != CUDA_SUCCESS || reached) {
        session_expect(from, -1);
        forget(number);
        return result == CUDA_ERROR_CAPTURED_EVENT ? refuse_capture(from, to) : result;
    }
    session_expect(to, 1);
    result = remote_gate_hold(number, stream);
    note_gate(number, result == CUDA_SUCCESS);
    if (result != CUDA_SUCCESS)
        session_expect(to, -1);
    return result;
}

static bool note_reached(const struct box_session *session, const struct wire_reached *reached)
{
    SCOPED_LOCK(&lock);
    struct crossing **at = find(reached->watch);
    if (!*at || (*at)->from != session || (*at)->reached)
        return false;
    (*at)->reached = true;
    (*at)->result = (CUresult)reached->result;
    settle(at);
    return true;
}

void crossing_reached(struct box_session *session, const struct wire_reached *reached)
{
    if (note_reached(session, reached))
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
            settle(at);
        }
        if (*at == crossing)
            at = &crossing->next;
    }
}
