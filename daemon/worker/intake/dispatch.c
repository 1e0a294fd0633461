// SPDX-License-Identifier: BSD-3-Clause
// One of the threads that serve requests reads the link. Before it waits for the GPU, it passes the
// reading to another thread, which is woken or created. Afterwards it waits for its next turn.
#include "daemon/worker/intake/dispatch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/base/wait.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/intake/pipeline.h"
#include "daemon/worker/intake/relief.h"
#include "daemon/worker/copy/staged/push_blocks.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "daemon/worker/suspend/quiesce.h"
#include "worker_serve.h"

enum { THREADS_MAX = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static _Atomic bool vacant;      // no thread takes requests
static _Atomic unsigned looking; // threads that will see that without being woken
static _Atomic unsigned idle;    // threads that look or sleep until it is their turn
static unsigned threads;         // under lock
static _Atomic bool engaged;     // the thread that reads has a request in hand

static bool dispatch_take_turn(void)
{
    bool is_vacant = true;

    return atomic_load_explicit(&vacant, memory_order_relaxed) &&
           atomic_compare_exchange_strong(&vacant, &is_vacant, false);
}

// Waking a thread takes longer than many a request does, so for a moment one looks for itself.
static bool look_for_turn(void)
{
    uint64_t until = clock_us() + setup_spin_us();
    bool taken = false;

    if (!setup_spin_us() || atomic_load_explicit(&looking, memory_order_relaxed))
        return dispatch_take_turn();
    atomic_fetch_add(&looking, 1);
    for (unsigned spins = 0; !(taken = dispatch_take_turn()); spins++) {
        cpu_relax();
        if (spins % 64 == 63 && clock_us() >= until)
            break;
    }
    atomic_fetch_sub(&looking, 1);
    return taken;
}

static void await_turn(void)
{
    atomic_fetch_add(&idle, 1);
    if (!look_for_turn()) {
        SCOPED_LOCK(&lock);
        while (!dispatch_take_turn())
            pthread_cond_wait(&turn, &lock);
    }
    atomic_fetch_sub(&idle, 1);
}

void dispatch_link_down(int err)
{
    if (err == -EPROTO || err == -EBADMSG || err == -EMSGSIZE)
        session_end(CONTROL_END_REASON_CLIENT_ERROR, "malformed record: %s",
                    link_error(session.link));
    session_end(CONTROL_END_REASON_CLIENT_LEFT, "%s", link_error(session.link));
}

void dispatch_malformed(const struct serve *serve, int size)
{
    const struct wire_request *request = (const void *)serve->record;

    session_end(CONTROL_END_REASON_CLIENT_ERROR,
                "request that cannot be right: op=%u (%s) size=%u of a record of %d", request->op,
                cuda_op_name(request->op), request->size, size);
}

// Returns true for requests that read more from the link themselves, or that later requests must
// not overtake: no other thread may read meanwhile.
static bool reads_on(const struct serve *serve)
{
    const struct wire_request *request = (const void *)serve->record;

    return request->op < CUDA_OP_LIMIT && (serve_table[request->op].traits & TRAIT_READS_ON);
}

static bool is_push_block(const struct serve *serve)
{
    return ((const struct wire_request *)(const void *)serve->record)->op == OP_push_block;
}

static void take_requests(struct serve *serve)
{
    serve->reading = true;
    while (serve->reading) {
        bool relieved = relief_reads();
        if (!relieved && push_blocks_coming() && !link_pending(session.link))
            serve_what_came(serve);
        atomic_store_explicit(&engaged, false, memory_order_relaxed);
        int size = (int)relief_take(serve);
        if (!size)
            size = link_receive(session.link, serve->record, WIRE_RECORD_MAX, LINK_UNINTERRUPTIBLE);
        if (size < 0)
            dispatch_link_down(size);
        if (!size)
            continue;
        // Set before the check for waiting requests, so that a pause that begins now sees this
        // thread.
        atomic_store_explicit(&engaged, true, memory_order_seq_cst);
        quiesce_pass();
        if (!relieved && !is_push_block(serve))
            serve_what_came(serve);
        if (!reads_on(serve))
            relief_executing(serve);
        if (!serve_record(serve, (uint32_t)size))
            dispatch_malformed(serve, size);
        if (serve->reading && !relief_executed(serve))
            serve->reading = false;
    }
}

static void let_others_read(struct serve *serve);
static const struct serve_reader reader = {.let_others_read = let_others_read,
                                           .may_linger = relief_linger};

static void *thread_main(void *argument)
{
    struct serve *serve = serve_new();
    char name[32];

    snprintf(name, sizeof(name), "session=%llu", (unsigned long long)session.id);
    log_set_thread_context(name);
    if (!serve)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
    serve->reader = &reader;
    for (;;) {
        await_turn();
        take_requests(serve);
    }
    return NULL;
}

static int add_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    if (threads == THREADS_MAX)
        return -EAGAIN;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int err = -pthread_create(&thread, &attributes, thread_main, NULL);
    pthread_attr_destroy(&attributes);
    if (!err)
        threads++;
    return err;
}

static int offer(void)
{
    int err = 0;

    atomic_store(&vacant, true);
    // A thread that checks now checks once more before it sleeps.
    if (atomic_load(&looking))
        return 0;
    SCOPED_LOCK(&lock);
    if (!atomic_load(&idle))
        err = add_thread();
    if (!err)
        pthread_cond_signal(&turn);
    return err;
}

// If no thread can be created, the lingering one takes its turn again in the end.
void dispatch_offer(void)
{
    if (offer())
        log_warn("no thread takes requests until one is free");
}

// Counts the executing threads: one thread reads, and idle ones wait for their turn.
static unsigned count_executing(void)
{
    SCOPED_LOCK(&lock);
    unsigned others = atomic_load(&idle) + !atomic_load(&vacant);

    return (threads > others ? threads - others : 0) + atomic_load(&engaged);
}

// Makes another thread take requests from now on. Returns false if there is none.
static bool promote(void)
{
    return !offer() || !dispatch_take_turn();
}

static void let_others_read(struct serve *serve)
{
    // Without another thread the wait holds up the link, which is slow but right.
    if (!relief_executed(serve) || promote())
        serve->reading = false;
    else
        relief_executing(serve);
}

void dispatch_start(void)
{
    quiesce_ask(count_executing);
    if (relief_start() || !promote())
        session_end(CONTROL_END_REASON_INTERNAL, "no thread to serve the session");
}
