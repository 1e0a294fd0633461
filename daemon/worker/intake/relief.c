// SPDX-License-Identifier: BSD-3-Clause
// The driver queues about a thousand operations in a stream; a call that finds the queue full waits
// for the GPU. Meanwhile the worker must read what the GPU may be waiting for: data of pushes, and
// ends of host functions with the changes of mirrored memory before them. These are executed at
// once. Other requests are kept in order for the blocked thread. Blocks of a push that has not
// begun are kept, too. Once it has begun, they are processed before other requests, which may wait
// for them.
//
// The same thread helps requests that seldom wait, such as frees: the serving thread keeps the
// link, because passing it on costs more than the request, and loses it to this thread if the
// request takes more than a tick.
#include "daemon/worker/intake/relief.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/intake/pipeline.h"
#include "daemon/worker/core/expected.h"
#include "daemon/worker/intake/dispatch.h"
#include "daemon/worker/copy/staged/push.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum {
    TICK_US = 1000,
    IDLE_TICKS = 100, // without anything to watch, until the watch sleeps
    CAUTION = 64,     // requests that do not linger after one that waited
    BACKLOG_MAX = 64 * 1024 * 1024,
};

// The state of the thread that takes requests: the low bits of `state`; the executions are numbered
// above them. Only the watch sets RELIEVED, and only that thread ends it.
enum { TAKING, EXECUTING, LINGERING, RELIEVED, KIND = 3 };
static _Atomic uint64_t state;
static uint64_t executions; // of that thread
static _Atomic bool lingered, watching;
static _Atomic int caution;

struct kept_record {
    struct kept_record *next;
    uint32_t size;
    uint8_t *payload; // of a push block; NULL: it is another request
    uint8_t record[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t needed = PTHREAD_COND_INITIALIZER;  // more is expected, or the backlog shrank
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; // the backlog grew, or reading stopped
static struct kept_record *first, **last = &first;
static size_t backlog_bytes;
static unsigned kept_blocks;
static bool reading, stop_wanted;

static void wake_watch(void)
{
    if (atomic_load(&watching))
        return;
    SCOPED_LOCK(&lock);
    pthread_cond_broadcast(&needed);
}

void relief_executing(struct serve *serve)
{
    uint64_t taking = TAKING, token = ++executions << 2 | EXECUTING;

    // The next reader sees the link as this thread left it.
    bool set = atomic_compare_exchange_strong_explicit(&state, &taking, token, memory_order_release,
                                                       memory_order_relaxed);
    serve->token = set ? token : 0;
}

bool relief_linger(struct serve *serve)
{
    uint64_t token = serve->token, longer = (token & ~(uint64_t)KIND) | LINGERING;

    if (!token || atomic_load(&caution) > 0) {
        atomic_fetch_sub(&caution, atomic_load(&caution) > 0);
        return false;
    }
    if (!atomic_compare_exchange_strong(&state, &token, longer))
        return false;
    serve->token = longer;
    atomic_store(&lingered, true);
    wake_watch();
    return true;
}

bool relief_executed(struct serve *serve)
{
    uint64_t token = serve->token;

    serve->token = 0;
    // A thread that was relieved goes on with requests of the backlog; one that lingered too long
    // does not.
    uint64_t now = token;
    return !token || atomic_compare_exchange_strong(&state, &now, TAKING) ||
           (token & KIND) == EXECUTING;
}

// ---- the thread that was relieved ----

static uint32_t job_of(const void *record)
{
    const struct args_push_block *args = (const void *)((const struct wire_request *)record + 1);

    return args->job;
}

// Returns the next record to serve: blocks of pushes that have begun come first.
static struct kept_record **find_next(void)
{
    struct kept_record **at = &first;

    if (!kept_blocks)
        return at;
    while (*at && !((*at)->payload && push_has_begun(job_of((*at)->record))))
        at = &(*at)->next;
    return *at ? at : &first;
}

static uint32_t relief_take_next(struct serve *serve)
{
    struct kept_record **at = find_next(), *entry = *at;
    uint32_t size = entry->size;

    *at = entry->next;
    if (!*at)
        last = at;
    backlog_bytes -= size;
    kept_blocks -= entry->payload != NULL;
    memcpy(serve->record, entry->record, size);
    serve->payload = entry->payload;
    free(entry);
    pthread_cond_broadcast(&needed);
    return size;
}

bool relief_reads(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == RELIEVED;
}

uint32_t relief_take(struct serve *serve)
{
    uint32_t size = 0;

    if (atomic_load_explicit(&state, memory_order_acquire) != RELIEVED)
        return 0;
    SCOPED_LOCK(&lock);
    while (!first && reading) {
        stop_wanted = true;
        link_interrupt(session.link);
        pthread_cond_wait(&changed, &lock);
    }
    if (first)
        size = relief_take_next(serve);
    else
        atomic_store(&state, TAKING);
    // With a record in hand, which may wait for what is still to come, reading goes on.
    stop_wanted = false;
    return size;
}

// ---- the thread that relieves ----

// False: it is a block whose push has begun meanwhile.
static bool relief_keep(const struct serve *serve, uint32_t size, uint8_t *payload)
{
    struct kept_record *entry = malloc(sizeof(*entry) + size);

    if (!entry)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
    *entry = (struct kept_record){.size = size, .payload = payload};
    memcpy(entry->record, serve->record, size);
    SCOPED_LOCK(&lock);
    // More than this is a client that does not wait for anything; what is kept must have an end.
    while (backlog_bytes > BACKLOG_MAX)
        pthread_cond_wait(&needed, &lock);
    if (payload && push_has_begun(job_of(entry->record))) {
        free(entry);
        return false;
    }
    *last = entry;
    last = &entry->next;
    backlog_bytes += size;
    kept_blocks += payload != NULL;
    pthread_cond_broadcast(&changed);
    return true;
}

static void keep_block(struct serve *serve, uint32_t size)
{
    const struct args_push_block *args = (const void *)(serve->request + 1);
    uint8_t *payload = malloc(args->size ? args->size : 1);

    if (!payload)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
    if (link_receive_bulk(session.link, payload, args->size))
        free(payload); // the next receive tells why
    else if (!relief_keep(serve, size, payload)) {
        serve->payload = payload;
        serve_record(serve, size);
    }
}

// The push itself is in the backlog, and so must its blocks be.
static bool is_early_block(const struct serve *serve)
{
    return serve->request->op == OP_push_block && !push_has_begun(job_of(serve->record));
}

static void relief_take_over(struct serve *serve, uint32_t size)
{
    const struct serve_entry *entry = serve_check(serve, size);

    if (!entry)
        dispatch_malformed(serve, (int)size);
    if (!(entry->traits & TRAIT_URGENT))
        relief_keep(serve, size, NULL);
    else if (is_early_block(serve))
        keep_block(serve, size);
    else if (serve_record(serve, size))
        serve_what_came(serve);
}

// The lock is held but while it receives, which may take for ever.
static void read_for_others(struct serve *serve)
{
    log_debug("the thread that reads is held up by the driver; another reads on");
    pthread_mutex_lock(&lock);
    while (!stop_wanted || first) {
        pthread_mutex_unlock(&lock);
        int size = link_receive(session.link, serve->record, WIRE_RECORD_MAX, -1);
        if (size < 0)
            dispatch_link_down(size);
        if (size)
            relief_take_over(serve, (uint32_t)size);
        pthread_mutex_lock(&lock);
    }
    reading = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

// Acts on one and the same request having been executed since the tick before. True: the reading is
// ours now.
static bool take_part(uint64_t now)
{
    bool taken = false;

    if ((now & KIND) == LINGERING && atomic_compare_exchange_strong(&state, &now, TAKING)) {
        atomic_store(&caution, CAUTION);
        dispatch_offer();
    } else if ((now & KIND) == EXECUTING && expected_any()) {
        SCOPED_LOCK(&lock);
        taken = atomic_compare_exchange_strong(&state, &now, RELIEVED);
        if (taken) {
            reading = true;
            stop_wanted = false;
        }
    }
    return taken;
}

static void await_need(void)
{
    SCOPED_LOCK(&lock);
    atomic_store(&watching, false);
    while (!expected_any() && !atomic_load(&lingered))
        pthread_cond_wait(&needed, &lock);
    atomic_store(&watching, true);
}

static void *watch_main(void *argument)
{
    const struct timespec tick = {.tv_nsec = TICK_US * 1000L};
    struct serve *serve = serve_new();
    unsigned idle = IDLE_TICKS;
    uint64_t seen = TAKING;

    if (!serve)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
    for (;;) {
        bool needed_now = expected_any() || atomic_exchange(&lingered, false);
        idle = needed_now ? 0 : idle + 1;
        if (idle >= IDLE_TICKS)
            await_need();
        nanosleep(&tick, NULL);
        uint64_t now = atomic_load(&state);
        if (now == seen && take_part(now))
            read_for_others(serve);
        seen = atomic_load(&state) == now ? now : TAKING;
    }
    return NULL;
}

int relief_start(void)
{
    pthread_t thread;

    expected_watch(wake_watch);
    int err = pthread_create(&thread, NULL, watch_main, NULL);

    if (!err)
        pthread_detach(thread);
    return -err;
}
