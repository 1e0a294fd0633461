// SPDX-License-Identifier: BSD-3-Clause
// A user object (cuUserObjectCreate) shows when a graph and everything made from it is gone. Its
// destructor runs in a thread that must not call the driver.
#include "daemon/worker/graphs/graph_calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/control.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/execute/serve_host_function.h"
#include "daemon/worker/core/expected.h"
#include "daemon/worker/copy/staged/deliver.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum graph_call_kind { CALL_FUNCTION, CALL_FETCH, CALL_STORE };

struct graph_call {
    enum graph_call_kind kind;
    uint64_t callback;
    uint64_t size; // of a copy
    uint8_t *buffer;
    uint64_t exec;           // whose it is, if not a graph's
    struct graph_call *next; // in `gone`, or in `of_execs`
};

// One launch that waits for its bytes. It lies on the stack of the driver's thread.
struct fetch {
    const struct graph_call *call;
    uint64_t received;
    struct fetch *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of both lists
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static struct fetch *fetching; // oldest first
static struct graph_call *of_execs;
static struct graph_call *gone; // whose memory is still to be given back

// ---- at each launch ----

static void await_bytes(struct fetch *fetch)
{
    SCOPED_LOCK(&lock);
    while (fetch->received < fetch->call->size) // the end of the session is the end of the process
        pthread_cond_wait(&came, &lock);
    struct fetch **at = &fetching;
    while (*at != fetch)
        at = &(*at)->next;
    *at = fetch->next;
}

static void begin_fetch(struct fetch *fetch)
{
    struct fetch **end = &fetching;

    SCOPED_LOCK(&lock);
    while (*end)
        end = &(*end)->next;
    *end = fetch;
}

static void graph_calls_fetch(const struct graph_call *call)
{
    struct wire_callback body = {.callback = call->callback, .size = call->size};
    struct fetch under_way = {.call = call};

    deliver_all();
    expected_add();
    begin_fetch(&under_way);
    event_send(EVENT_GRAPH_WANTED, &body, sizeof(body), 0);
    await_bytes(&under_way);
    expected_came();
}

static _Atomic bool blocks_wanted;

void serve_graph_takes_blocks(struct serve *serve, const struct args_graph_takes_blocks *args)
{
    atomic_store(&blocks_wanted, true);
}

static void store_blocks(const struct graph_call *call)
{
    for (uint64_t offset = 0; offset < call->size; offset += WIRE_BLOCK_SIZE) {
        uint64_t left = call->size - offset, size = left < WIRE_BLOCK_SIZE ? left : WIRE_BLOCK_SIZE;
        struct {
            struct wire_event event;
            struct wire_callback body;
        } record = {.event = {.size = sizeof(record), .kind = EVENT_GRAPH_BLOCK},
                    .body = {call->callback, offset, size}};
        if (link_send_bulk(session.link, &record, sizeof(record), call->buffer + offset, size))
            return; // the reading thread ends the session
    }
}

static void store_records(const struct graph_call *call)
{
    const uint32_t head = (uint32_t)(sizeof(struct wire_event) + sizeof(struct wire_callback));

    for (uint64_t offset = 0; offset < call->size; offset += WIRE_INLINE_MAX) {
        uint64_t left = call->size - offset;
        uint32_t size = left < WIRE_INLINE_MAX ? (uint32_t)left : WIRE_INLINE_MAX;
        uint32_t whole = head + ((size + 7) & ~7u);
        struct wire_event *event = link_reserve(session.link, whole);
        if (!event)
            return;
        *event = (struct wire_event){.size = whole, .kind = EVENT_GRAPH_DATA, .bytes = size};
        struct wire_callback *body = (void *)(event + 1);
        *body = (struct wire_callback){call->callback, offset, size};
        memcpy(body + 1, call->buffer + offset, size);
        memset((uint8_t *)(body + 1) + size, 0, -size & 7);
        link_commit_flush(session.link);
    }
}

static void CUDA_CB graph_calls_run(void *opaque)
{
    struct graph_call *call = opaque;

    switch (call->kind) {
    case CALL_FUNCTION: host_function_call(call->callback); return;
    case CALL_FETCH: graph_calls_fetch(call); return;
    case CALL_STORE:
        if (call->size > WIRE_INLINE_MAX && atomic_load(&blocks_wanted))
            store_blocks(call);
        else
            store_records(call);
        return;
    }
}

// The launch that waits for these bytes; it stays until it has all of them. NULL: noted.
static struct fetch *find_fetch(struct serve *serve, uint64_t token, uint64_t offset, uint64_t size)
{
    SCOPED_LOCK(&lock);
    struct fetch *fetch = fetching;
    // A fetch with all of its bytes only waits to leave.
    while (fetch && (fetch->call->callback != token || fetch->received == fetch->call->size))
        fetch = fetch->next;
    if (fetch && offset == fetch->received && size <= fetch->call->size - fetch->received)
        return fetch;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return NULL;
}

static void have_received(struct fetch *fetch, uint64_t size)
{
    SCOPED_LOCK(&lock);
    fetch->received += size;
    if (fetch->received == fetch->call->size)
        pthread_cond_broadcast(&came);
}

void serve_graph_bytes(struct serve *serve, const struct args_graph_bytes *args)
{
    struct fetch *fetch = find_fetch(serve, args->token, args->offset, args->bytes);

    if (!fetch)
        return;
    memcpy(fetch->call->buffer + fetch->received, args + 1, args->bytes);
    have_received(fetch, args->bytes);
}

bool check_graph_block(const void *raw)
{
    const struct args_graph_block *args = raw;

    return args->size && args->size <= WIRE_BLOCK_SIZE;
}

// One thread reads the link, so no other one adds to the same launch meanwhile.
void serve_graph_block(struct serve *serve, const struct args_graph_block *args)
{
    struct fetch *fetch = find_fetch(serve, args->token, args->offset, args->size);
    SCOPED_FREE uint8_t *nowhere = fetch ? NULL : malloc(args->size);
    uint8_t *to = fetch ? fetch->call->buffer + fetch->received : nowhere;

    if (!to)
        session_end(CONTROL_END_REASON_INTERNAL, "out of memory");
    if (link_receive_bulk(session.link, to, args->size))
        return; // the reading thread ends the session
    if (fetch)
        have_received(fetch, args->size);
}

// ---- making them, and their end ----

static struct graph_call *graph_calls_make(struct serve *serve, enum graph_call_kind kind,
                                           uint64_t callback)
{
    struct graph_call *call = serve_failed(serve) ? NULL : calloc(1, sizeof(*call));

    if (call)
        *call = (struct graph_call){.kind = kind, .callback = callback};
    else
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    return call;
}

struct graph_call *graph_call_function(struct serve *serve, uint64_t callback)
{
    return graph_calls_make(serve, CALL_FUNCTION, callback);
}

struct graph_call *graph_call_copy(struct serve *serve, uint64_t callback, bool to_device,
                                   uint64_t size)
{
    struct graph_call *call =
        graph_calls_make(serve, to_device ? CALL_FETCH : CALL_STORE, callback);
    void *buffer = NULL;

    if (!call)
        return NULL;
    if (serve_require(serve, driver.cuMemHostAlloc))
        serve_fail(serve, driver.cuMemHostAlloc(&buffer, size, CU_MEMHOSTALLOC_PORTABLE));
    if (serve_failed(serve)) {
        free(call);
        return NULL;
    }
    call->size = size;
    call->buffer = buffer;
    return call;
}

void *graph_call_buffer(const struct graph_call *call)
{
    return call->buffer;
}

CUDA_HOST_NODE_PARAMS graph_call_params(struct graph_call *call)
{
    return (CUDA_HOST_NODE_PARAMS){.fn = graph_calls_run, .userData = call};
}

void graph_callback_refuse(uint64_t callback)
{
    struct wire_callback body = {.callback = callback};

    if (callback)
        event_send(EVENT_GRAPH_GONE, &body, sizeof(body), 0);
}

// In a thread of the driver's, which forbids calls of its functions there.
static void CUDA_CB graph_calls_end(void *opaque)
{
    struct graph_call *call = opaque;

    graph_callback_refuse(call->callback);
    if (!call->buffer) {
        free(call);
        return;
    }
    SCOPED_LOCK(&lock);
    call->next = gone;
    gone = call;
}

void graph_call_drop(struct graph_call *call)
{
    graph_calls_end(call);
}

void graph_call_give(struct serve *serve, struct graph_call *call, CUgraph graph)
{
    CUuserObject object = NULL;

    if (!driver.cuUserObjectCreate || !driver.cuGraphRetainUserObject) {
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
        graph_calls_end(call);
        return;
    }
    CUresult result = driver.cuUserObjectCreate(&object, call, graph_calls_end, 1,
                                                CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result != CUDA_SUCCESS) {
        serve_fail(serve, result);
        graph_calls_end(call);
        return;
    }
    result = driver.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    serve_fail(serve, result);
    if (result != CUDA_SUCCESS)
        driver.cuUserObjectRelease(object, 1);
}

void graph_call_give_exec(struct graph_call *call, uint64_t exec)
{
    SCOPED_LOCK(&lock);
    call->exec = exec;
    call->next = of_execs;
    of_execs = call;
}

static struct graph_call *take_of_exec(uint64_t exec)
{
    struct graph_call *taken = NULL;

    SCOPED_LOCK(&lock);
    for (struct graph_call **at = &of_execs, *call; (call = *at);) {
        if (call->exec != exec) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        call->next = taken;
        taken = call;
    }
    return taken;
}

// The driver does not say when the last launch of something that was destroyed is over.
void graph_calls_end_exec(struct serve *serve, uint64_t exec)
{
    struct graph_call *call = take_of_exec(exec);

    if (!call)
        return;
    serve_let_others_read(serve);
    driver.cuCtxSynchronize();
    while (call) {
        struct graph_call *next = call->next;
        graph_calls_end(call);
        call = next;
    }
}

uint64_t graph_call_of(const CUDA_HOST_NODE_PARAMS *params, bool *copies)
{
    const struct graph_call *call = params->userData;

    if (params->fn != graph_calls_run)
        return 0;
    *copies = call->kind != CALL_FUNCTION;
    return call->callback;
}

void graph_calls_free_memory(void)
{
    pthread_mutex_lock(&lock);
    struct graph_call *list = gone;
    gone = NULL;
    pthread_mutex_unlock(&lock);
    while (list) {
        struct graph_call *call = list;
        list = call->next;
        driver.cuMemFreeHost(call->buffer);
        free(call);
    }
}

// ---- the client's own user objects ----

struct graph_user_object {
    uint64_t handle, callback;
};

static void CUDA_CB user_object_ends(void *opaque)
{
    struct graph_user_object *object = opaque;

    handle_release(session.handles, object->handle, HANDLE_USER_OBJECT);
    graph_callback_refuse(object->callback);
    free(object);
}

void serve_graph_user_object(struct serve *serve, const struct args_graph_user_object *args)
{
    CUuserObject made = NULL;
    struct graph_user_object *object = malloc(sizeof(*object));

    if (!object)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (object && serve_require(serve, driver.cuUserObjectCreate)) {
        *object = (struct graph_user_object){args->object, args->token};
        serve_fail(serve, driver.cuUserObjectCreate(&made, object, user_object_ends,
                                                    args->references, args->flags));
    }
    if (serve_failed(serve)) {
        graph_callback_refuse(args->token);
        free(object);
        return;
    }
    serve_bind(serve, HANDLE_USER_OBJECT, args->object, made, 0);
}
