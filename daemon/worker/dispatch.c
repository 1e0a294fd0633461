// The threads that serve requests. One of them reads the link; before it goes on to wait for the GPU
// it hands the reading to another, which is woken or made, and queues up again when it is done.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "cuda_ops.h"
#include "daemon/worker/relief.h"
#include "daemon/worker/worker.h"

enum { THREADS_MAX = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static bool vacant;      // nobody reads the link
static unsigned waiting; // threads that could
static unsigned threads;

static void await_turn(void)
{
    pthread_mutex_lock(&lock);
    waiting++;
    while (!vacant)
        pthread_cond_wait(&turn, &lock);
    waiting--;
    vacant = false;
    pthread_mutex_unlock(&lock);
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

// Requests that take more from the link themselves: nobody else may read meanwhile.
static bool reads_on(const struct serve *serve)
{
    const struct wire_request *request = (const void *)serve->record;

    return request->op == OP_push_block || request->op == OP_host_map;
}

static void take_requests(struct serve *serve)
{
    serve->reading = true;
    while (serve->reading) {
        int size = (int)relief_take(serve);
        if (!size)
            size = link_receive(session.link, serve->record, WIRE_RECORD_MAX, -1);
        if (size < 0)
            dispatch_link_down(size);
        if (!size)
            continue;
        if (!reads_on(serve))
            relief_executing();
        if (!serve_record(serve, (uint32_t)size))
            dispatch_malformed(serve, size);
        if (serve->reading)
            relief_executed();
    }
}

static void *thread_main(void *opaque)
{
    struct serve *serve = serve_new();
    char name[32];

    snprintf(name, sizeof(name), "session=%llu", (unsigned long long)session.id);
    log_set_thread_context(name);
    if (!serve)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
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

static bool promote(void)
{
    int err = 0;

    pthread_mutex_lock(&lock);
    if (!waiting)
        err = add_thread();
    if (!err) {
        vacant = true;
        pthread_cond_signal(&turn);
    }
    pthread_mutex_unlock(&lock);
    return !err;
}

void serve_let_others_read(struct serve *serve)
{
    if (!serve->reading)
        return;
    relief_executed();
    // Without another thread the wait holds up the link, which is slow but right.
    if (promote())
        serve->reading = false;
    else
        relief_executing();
}

void dispatch_start(void)
{
    if (relief_start() || !promote())
        session_end(CONTROL_END_REASON_INTERNAL, "no thread to serve the session");
}
