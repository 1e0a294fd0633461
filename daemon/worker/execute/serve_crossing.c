// SPDX-License-Identifier: BSD-3-Clause
// Events that streams of other boxes wait for, and semaphores on which streams here wait for events
// of other boxes. The client connects the two: it makes the worker watch an event, the worker
// reports when the event is reached, and the client signals the semaphore on the other box.
//
// A thread polls the watched events: a stream that waits for one could block others that share a
// hardware queue, and a thread for each would be too many.
#include "daemon/worker/execute/serve_crossing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/handle_table.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/core/expected.h"
#include "daemon/worker/copy/staged/deliver.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

struct watch {
    uint32_t number;
    CUevent event;
    CUcontext context;
    bool ours; // the client has recorded or destroyed its event since: this one ends with the watch
    CUresult result;
    struct watch *next;
};

struct held {
    uint32_t number;
    int semaphore;
    uint32_t value;
    CUcontext context;
    struct held *next;
};

static struct watch *watches;
static struct held *held;
static _Atomic unsigned
    watch_count; // changed by those who take requests, and by the end of watches
static bool watching;

static bool any_watch(void);
static bool serve_crossing_look(void);
static struct mover mover = MOVER(.name = "rgpu-crossing", .has_work = any_watch,
                                  .advance = serve_crossing_look); // its lock is that of all above

// ---- watching ----

// Takes the watches that are over out of the list. Under lock.
static struct watch *take_reached(void)
{
    struct watch *reached = NULL, **end = &reached;

    for (struct watch **at = &watches; *at;) {
        struct watch *watch = *at;
        watch->result = mover_enter(&mover, watch->context);
        if (watch->result == CUDA_SUCCESS)
            watch->result = driver.cuEventQuery(watch->event);
        if (watch->result == CUDA_ERROR_NOT_READY) {
            at = &watch->next;
            continue;
        }
        *at = watch->next;
        watch->next = NULL;
        *end = watch;
        end = &watch->next;
        atomic_fetch_sub(&watch_count, 1);
    }
    return reached;
}

static bool is_watched(CUevent event)
{
    const struct watch *watch = watches;

    while (watch && watch->event != event)
        watch = watch->next;
    return watch != NULL;
}

// Ends events without waiters. The caller holds the lock; their context still exists.
static void end_events(struct watch *reached)
{
    for (struct watch *watch = reached; watch; watch = watch->next) {
        bool later = is_watched(watch->event);
        for (const struct watch *w = watch->next; w && !later; w = w->next)
            later = w->event == watch->event;
        if (watch->ours && !later)
            driver.cuEventDestroy_v2(watch->event);
    }
}

static void serve_crossing_tell(struct watch *reached)
{
    while (reached) {
        struct watch *watch = reached;
        struct wire_reached body = {.watch = watch->number, .result = (int32_t)watch->result};
        reached = watch->next;
        event_send(EVENT_REACHED, &body, sizeof(body), 0);
        free(watch);
    }
}

static bool any_watch(void)
{
    return watches;
}

// Gives the lock up while it tells: the link may be slow.
static bool serve_crossing_look(void)
{
    struct watch *reached = take_reached();

    if (!reached)
        return false;
    end_events(reached);
    pthread_mutex_unlock(&mover.lock);
    deliver_all();
    serve_crossing_tell(reached);
    pthread_mutex_lock(&mover.lock);
    return true;
}

// Under lock.
static bool start_watching(void)
{
    watching = watching || mover_start(&mover) == 0;
    return watching;
}

static CUcontext serve_crossing_context_of(uint64_t event)
{
    return handle_find(session.handles, session.notes[handle_index(event)].parent, HANDLE_CONTEXT);
}

void serve_event_watch(struct serve *serve, const struct args_event_watch *args,
                       struct reply_event_watch *reply, CUevent event)
{
    CUresult result = driver.cuEventQuery(event);
    reply->reached = result != CUDA_ERROR_NOT_READY;
    if (reply->reached) {
        serve_fail(serve, result);
        return;
    }
    struct watch *watch = calloc(1, sizeof(*watch));
    SCOPED_LOCK(&mover.lock);
    if (watch && start_watching()) {
        *watch = (struct watch){.number = args->watch,
                                .event = event,
                                .context = serve_crossing_context_of(args->event),
                                .next = watches};
        watches = watch;
        atomic_fetch_add(&watch_count, 1);
        pthread_cond_signal(&mover.added);
    } else {
        free(watch);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
}

// ---- events, which may be recorded again and destroyed while they are watched ----

// Leaves the event to its watches. Returns false if there are none.
static bool leave_to_watches(CUevent event)
{
    bool found = false;

    SCOPED_LOCK(&mover.lock);
    for (struct watch *watch = watches; watch; watch = watch->next)
        if (watch->event == event)
            watch->ours = found = true;
    return found;
}

static CUresult serve_crossing_make_event(CUevent *out, CUcontext context, unsigned flags,
                                          CUcontext current)
{
    driver.cuCtxSetCurrent(context);
    CUresult result = driver.cuEventCreate(out, flags);
    driver.cuCtxSetCurrent(current);
    return result;
}

static bool is_watched_now(CUevent event)
{
    SCOPED_LOCK(&mover.lock);
    return is_watched(event);
}

CUevent crossing_event(struct serve *serve, uint64_t handle)
{
    CUevent event = serve_handle(serve, HANDLE_EVENT, handle), fresh;

    if (!event || !atomic_load(&watch_count))
        return event;
    struct handle_note note = session.notes[handle_index(handle)];
    if (!is_watched_now(event))
        return event;
    CUresult result = serve_crossing_make_event(&fresh, serve_crossing_context_of(handle),
                                                note.event_flags, serve->current);
    if (result != CUDA_SUCCESS) {
        serve_fail(serve, result);
        return NULL;
    }
    if (!leave_to_watches(event)) {
        driver.cuEventDestroy_v2(fresh);
        return event;
    }
    handle_release(session.handles, handle, HANDLE_EVENT);
    serve_bind(serve, HANDLE_EVENT, handle, fresh, note.parent);
    session.notes[handle_index(handle)] = note;
    return fresh;
}

void serve_cuEventCreate(struct serve *serve, const struct args_cuEventCreate *args)
{
    CUevent event = NULL;

    serve_fail(serve, driver.cuEventCreate(&event, args->Flags));
    if (!serve_failed(serve))
        serve_bind(serve, HANDLE_EVENT, args->phEvent, event, serve_context(serve));
    if (!serve_failed(serve))
        session.notes[handle_index(args->phEvent)].event_flags = args->Flags;
}

void serve_cuEventDestroy_v2(struct serve *serve, const struct args_cuEventDestroy_v2 *args,
                             CUevent event)
{
    if (!leave_to_watches(event))
        serve_fail(serve, driver.cuEventDestroy_v2(event));
    serve_unbind(serve, HANDLE_EVENT, args->hEvent);
}

void serve_cuEventRecord(struct serve *serve, const struct args_cuEventRecord *args,
                         CUstream stream)
{
    CUevent event = crossing_event(serve, args->hEvent);

    if (serve_require(serve, driver.cuEventRecord))
        serve_fail(serve, driver.cuEventRecord(event, stream));
}

void serve_cuEventRecordWithFlags(struct serve *serve,
                                  const struct args_cuEventRecordWithFlags *args, CUstream stream)
{
    CUevent event = crossing_event(serve, args->hEvent);

    if (serve_require(serve, driver.cuEventRecordWithFlags))
        serve_fail(serve, driver.cuEventRecordWithFlags(event, stream, args->flags));
}

void serve_cuCtxRecordEvent(struct serve *serve, const struct args_cuCtxRecordEvent *args,
                            CUcontext context)
{
    CUevent event = crossing_event(serve, args->hEvent);

    if (serve_require(serve, driver.cuCtxRecordEvent))
        serve_fail(serve, driver.cuCtxRecordEvent(context, event));
}

// ---- semaphores ----

// The context of a stream: default streams are those of the current one.
static CUcontext stream_context(const struct serve *serve, uint64_t stream)
{
    return stream > 1 ? serve_crossing_context_of(stream) : serve->current;
}

void serve_semaphore_wait(struct serve *serve, const struct args_semaphore_wait *args,
                          CUstream stream)
{
    SEMAPHORE_PASS(pass);
    struct held *entry = calloc(1, sizeof(*entry));

    if (!entry)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (serve_failed(serve)) {
        free(entry);
        return;
    }
    *entry =
        (struct held){.number = args->semaphore, .context = stream_context(serve, args->stream)};
    entry->semaphore = semaphore_take(&pass, SEMAPHORE_OF_CLIENT, &entry->value);
    if (entry->semaphore < 0) {
        log_warn("all semaphores are in use: a stream cannot wait for another box semaphores=%d",
                 SEMAPHORES);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        free(entry);
        return;
    }
    // Before the GPU may wait: what signals the semaphore comes over the link.
    expected_add();
    serve_fail(serve, semaphore_wait(stream, entry->semaphore, entry->value));
    if (serve_failed(serve)) {
        expected_came();
        semaphore_release(entry->semaphore);
        free(entry);
        return;
    }
    SCOPED_LOCK(&mover.lock);
    entry->next = held;
    held = entry;
}

static void serve_crossing_signal(struct held *entry)
{
    semaphore_signal(entry->semaphore, entry->value);
    semaphore_release(entry->semaphore);
    expected_came();
    free(entry);
}

static struct held *take_held(uint32_t number)
{
    SCOPED_LOCK(&mover.lock);
    struct held **at = &held;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct held *found = *at;
    if (found)
        *at = found->next;
    return found;
}

// A semaphore that went with its context is not there any more.
void serve_semaphore_signal(struct serve *serve, const struct args_semaphore_signal *args)
{
    struct held *found = take_held(args->semaphore);

    if (found)
        serve_crossing_signal(found);
}

// ---- the end of contexts ----

static struct watch *take_watches_of(CUcontext context)
{
    struct watch *taken = NULL;

    for (struct watch **at = &watches; *at;) {
        struct watch *watch = *at;
        if (watch->context != context) {
            at = &watch->next;
            continue;
        }
        *at = watch->next;
        watch->result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
        watch->next = taken;
        taken = watch;
        atomic_fetch_sub(&watch_count, 1);
    }
    return taken;
}

static void open_semaphores_of(CUcontext context)
{
    for (struct held **at = &held; *at;) {
        struct held *entry = *at;
        if (entry->context == context) {
            *at = entry->next;
            serve_crossing_signal(entry);
        } else {
            at = &entry->next;
        }
    }
}

static void serve_crossing_forget_context(CUcontext context)
{
    struct watch *taken;
    {
        SCOPED_LOCK(&mover.lock);
        taken = take_watches_of(context);
        open_semaphores_of(context);
        mover_forget_context(&mover, context);
    }
    serve_crossing_tell(taken);
}

void crossing_prepare(void)
{
    context_watch(serve_crossing_forget_context);
}
