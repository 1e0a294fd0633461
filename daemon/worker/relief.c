// Takes over the reading of the link while the thread that should read it is stuck in the driver.
//
// A driver takes about a thousand operations per stream; a call that finds the queue full waits for the
// GPU. That must not keep us from reading what the GPU itself may be waiting for: the data of a push and
// the end of a host function. These are acted on at once; all other requests are kept, in their order,
// for the thread that is stuck.
#include "daemon/worker/relief.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "cuda_ops.h"

enum { TICK_US = 2000, BACKLOG_MAX = 64 * 1024 * 1024 };

// Of the thread that takes requests. Only the watch makes it RELIEVED, only that thread ends it.
enum { TAKING, EXECUTING, RELIEVED };
static _Atomic int state;

struct entry {
    struct entry *next;
    uint32_t size;
    uint8_t *payload; // of a push block; NULL: none
    uint8_t record[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t needed = PTHREAD_COND_INITIALIZER;  // expected rose, or the backlog shrank
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; // the backlog grew, or reading stopped
static _Atomic unsigned expected; // what the GPU waits for and the link will bring
static struct entry *first, **last = &first;
static size_t backlog_bytes;
static bool reading, stop_wanted;

void relief_expect(void)
{
    if (atomic_fetch_add(&expected, 1))
        return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&needed);
    pthread_mutex_unlock(&lock);
}

void relief_came(void)
{
    atomic_fetch_sub(&expected, 1);
}

void relief_executing(void)
{
    int taking = TAKING;

    // Whoever takes over sees the link as this thread left it.
    atomic_compare_exchange_strong_explicit(&state, &taking, EXECUTING, memory_order_release,
                                            memory_order_relaxed);
}

void relief_executed(void)
{
    int executing = EXECUTING;

    atomic_compare_exchange_strong_explicit(&state, &executing, TAKING, memory_order_acquire,
                                            memory_order_relaxed);
}

// ---- the thread that was relieved ----

static uint32_t take_first(struct serve *serve)
{
    struct entry *entry = first;
    uint32_t size = entry->size;

    first = entry->next;
    if (!first)
        last = &first;
    backlog_bytes -= size;
    memcpy(serve->record, entry->record, size);
    serve->payload = entry->payload;
    free(entry);
    pthread_cond_broadcast(&needed);
    return size;
}

uint32_t relief_take(struct serve *serve)
{
    uint32_t size = 0;

    if (atomic_load_explicit(&state, memory_order_acquire) != RELIEVED)
        return 0;
    pthread_mutex_lock(&lock);
    while (!first && reading) {
        stop_wanted = true;
        link_kick(session.link);
        pthread_cond_wait(&changed, &lock);
    }
    if (first) {
        size = take_first(serve);
    } else {
        stop_wanted = false;
        atomic_store(&state, TAKING);
    }
    pthread_mutex_unlock(&lock);
    return size;
}

// ---- the thread that relieves ----

static void keep(const struct serve *serve, uint32_t size, uint8_t *payload)
{
    struct entry *entry = malloc(sizeof(*entry) + size);

    if (!entry)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
    *entry = (struct entry){.size = size, .payload = payload};
    memcpy(entry->record, serve->record, size);
    pthread_mutex_lock(&lock);
    // More than this is a client that does not wait for anything; what is kept must have an end.
    while (backlog_bytes > BACKLOG_MAX)
        pthread_cond_wait(&needed, &lock);
    *last = entry;
    last = &entry->next;
    backlog_bytes += size;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void keep_block(const struct serve *serve, uint32_t size)
{
    const struct args_push_block *args = (const void *)(serve->request + 1);
    uint8_t *payload = malloc(args->size ? args->size : 1);

    if (!payload)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
    if (link_receive_bulk(session.link, payload, args->size))
        free(payload); // the next receive tells why
    else
        keep(serve, size, payload);
}

static void take_over(struct serve *serve, uint32_t size)
{
    serve->request = (const void *)serve->record;
    if (!serve_check(serve, size))
        dispatch_malformed(serve, (int)size);
    switch (serve->request->op) {
    case OP_push_block:
        if (push_block_broken(serve))
            dispatch_malformed(serve, (int)size);
        // A push that has not begun yet is in the backlog, and so must its blocks be.
        if (push_has_begun(serve))
            serve_record(serve, size);
        else
            keep_block(serve, size);
        return;
    case OP_host_function_done:
        serve_record(serve, size);
        return;
    default:
        keep(serve, size, NULL);
    }
}

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
            take_over(serve, (uint32_t)size);
        pthread_mutex_lock(&lock);
    }
    reading = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

// Whether one and the same request has been executed for a tick, and the reading is ours now.
static bool take_reading(void)
{
    static uint64_t seen;
    uint64_t calls = atomic_load_explicit(&session.calls, memory_order_relaxed);
    int executing = EXECUTING;

    if (calls != seen) {
        seen = calls;
        return false;
    }
    pthread_mutex_lock(&lock);
    bool taken = atomic_compare_exchange_strong(&state, &executing, RELIEVED);
    if (taken) {
        reading = true;
        stop_wanted = false;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

static void *watch_main(void *opaque)
{
    const struct timespec tick = {.tv_nsec = TICK_US * 1000L};
    struct serve *serve = serve_new();

    if (!serve)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!atomic_load(&expected))
            pthread_cond_wait(&needed, &lock);
        pthread_mutex_unlock(&lock);
        nanosleep(&tick, NULL);
        if (take_reading())
            read_for_others(serve);
    }
    return NULL;
}

int relief_start(void)
{
    pthread_t thread;
    int err = pthread_create(&thread, NULL, watch_main, NULL);

    if (!err)
        pthread_detach(thread);
    return -err;
}
