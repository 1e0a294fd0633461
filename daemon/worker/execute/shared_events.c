// SPDX-License-Identifier: BSD-3-Clause
// The driver's shared events need files that workers cannot open. Instead, a shared event has a
// cell in shared memory of the GPU: the number of its records, and the last record that its stream
// has reached. The driver's functions for events are wrapped (shared_events_prepare): for an event
// with a cell, a record is a word that the stream writes, and a wait is for that word.
#include "daemon/worker/execute/shared_events.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scope.h"
#include "daemon/worker/account/shared.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

enum { PAGE_BYTES = 64 * 1024, CELL_BYTES = 8, CELLS = PAGE_BYTES / CELL_BYTES };
enum { RECORDED, DONE }; // words of a cell

// State of a context for its events.
struct event_side {
    CUcontext context;
    CUstream stream; // on which cells are read and written
    CUdeviceptr page;
    unsigned used; // cells, which are not used again
    struct event_side *next;
};

struct shared_event {
    CUevent event;
    CUdeviceptr cell;
    CUdeviceptr opened; // of another process; 0: ours
    struct event_side *side;
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    struct shared_event *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all that follows
static struct event_side *sides;
static struct shared_event *events;
static _Atomic bool any; // so that other sessions do not pay for this

static CUresult (*event_record)(CUevent event, CUstream stream);
static CUresult (*event_record_with_flags)(CUevent event, CUstream stream, unsigned flags);
static CUresult (*event_query)(CUevent event);
static CUresult (*event_synchronize)(CUevent event);
static CUresult (*event_destroy)(CUevent event);
static CUresult (*stream_wait)(CUstream stream, CUevent event, unsigned flags);

// Under lock.
static struct shared_event *shared_events_find(CUevent event)
{
    struct shared_event *at = atomic_load_explicit(&any, memory_order_acquire) ? events : NULL;

    while (at && at->event != event)
        at = at->next;
    return at;
}

static bool shared_events_is_shared(CUevent event)
{
    if (!atomic_load_explicit(&any, memory_order_acquire))
        return false;
    SCOPED_LOCK(&lock);
    return shared_events_find(event) != NULL;
}

// ---- cells; under lock ----

static CUresult shared_events_settle(const struct event_side *side, CUresult result)
{
    CUresult done = driver.cuStreamSynchronize(side->stream);

    return result ? result : done;
}

static CUresult read_cell(const struct shared_event *event, uint32_t words[2])
{
    driver.cuCtxPushCurrent_v2(event->side->context);
    CUresult result = shared_events_settle(
        event->side,
        driver.cuMemcpyDtoHAsync_v2(words, event->cell, CELL_BYTES, event->side->stream));
    driver.cuCtxPopCurrent_v2(&(CUcontext){0});
    return result;
}

static CUresult write_word(const struct shared_event *event, int word, uint32_t value)
{
    driver.cuCtxPushCurrent_v2(event->side->context);
    CUresult result = shared_events_settle(
        event->side,
        driver.cuStreamWriteValue32_v2(event->side->stream, event->cell + (unsigned)word * 4, value,
                                       CU_STREAM_WRITE_VALUE_DEFAULT));
    driver.cuCtxPopCurrent_v2(&(CUcontext){0});
    return result;
}

static struct event_side *shared_events_side_of(CUcontext context)
{
    struct event_side *side = sides;

    while (side && side->context != context)
        side = side->next;
    if (side || !(side = calloc(1, sizeof(*side))))
        return side;
    side->context = context;
    if (driver.cuStreamCreate(&side->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
        free(side);
        return NULL;
    }
    side->next = sides;
    sides = side;
    return side;
}

// ---- what the driver's functions do for them ----

static CUresult record_cell(const struct shared_event *event, CUstream stream)
{
    uint32_t words[2];
    CUresult result = read_cell(event, words);

    if (result == CUDA_SUCCESS)
        result = write_word(event, RECORDED, words[RECORDED] + 1);
    return result
               ? result
               : driver.cuStreamWriteValue32_v2(stream, event->cell + DONE * 4, words[RECORDED] + 1,
                                                CU_STREAM_WRITE_VALUE_DEFAULT);
}

static CUresult shared_events_record(CUevent event, CUstream stream)
{
    CUresult result = event_record(event, stream);

    if (result || !shared_events_is_shared(event))
        return result;
    SCOPED_LOCK(&lock);
    const struct shared_event *shared = shared_events_find(event);
    return shared ? record_cell(shared, stream) : CUDA_SUCCESS;
}

static CUresult record_with_flags(CUevent event, CUstream stream, unsigned flags)
{
    return shared_events_is_shared(event) ? shared_events_record(event, stream)
                                          : event_record_with_flags(event, stream, flags);
}

static CUresult await_cell(const struct shared_event *event, CUstream stream)
{
    uint32_t words[2];
    CUresult result = read_cell(event, words);

    if (result || words[RECORDED] == words[DONE])
        return result;
    return driver.cuStreamWaitValue32_v2(stream, event->cell + DONE * 4, words[RECORDED],
                                         CU_STREAM_WAIT_VALUE_GEQ);
}

static CUresult wait_in_stream(CUstream stream, CUevent event, unsigned flags)
{
    if (!shared_events_is_shared(event))
        return stream_wait(stream, event, flags);
    SCOPED_LOCK(&lock);
    const struct shared_event *shared = shared_events_find(event);
    return shared ? await_cell(shared, stream) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult shared_events_query(CUevent event)
{
    uint32_t words[2];

    if (!shared_events_is_shared(event))
        return event_query(event);
    SCOPED_LOCK(&lock);
    const struct shared_event *shared = shared_events_find(event);
    CUresult result = shared ? read_cell(shared, words) : CUDA_ERROR_INVALID_HANDLE;
    return result || words[RECORDED] == words[DONE] ? result : CUDA_ERROR_NOT_READY;
}

static CUresult shared_events_synchronize(CUevent event)
{
    CUstream stream;

    if (!shared_events_is_shared(event))
        return event_synchronize(event);
    CUresult result = driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result)
        return result;
    result = wait_in_stream(stream, event, 0);
    CUresult done = driver.cuStreamSynchronize(stream);
    driver.cuStreamDestroy_v2(stream);
    return result ? result : done;
}

static void shared_events_forget(struct shared_event *gone)
{
    // An opened event stays open: closing might wait for all work, and its page is small and opened
    // only once.
    if (gone->opened)
        import_forget((uintptr_t)gone->event);
    else
        shared_forget((uintptr_t)gone->event);
    free(gone);
}

static CUresult shared_events_destroy(CUevent event)
{
    if (shared_events_is_shared(event)) {
        SCOPED_LOCK(&lock);
        struct shared_event **at = &events;
        while (*at && (*at)->event != event)
            at = &(*at)->next;
        struct shared_event *gone = *at;
        if (gone) {
            *at = gone->next;
            shared_events_forget(gone);
        }
    }
    return event_destroy(event);
}

static void shared_events_forget_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct shared_event **at = &events; *at;) {
        struct shared_event *event = *at;
        if (event->side->context != context) {
            at = &event->next;
            continue;
        }
        *at = event->next;
        shared_events_forget(event);
    }
    for (struct event_side **at = &sides; *at; at = &(*at)->next)
        if ((*at)->context == context) {
            struct event_side *side = *at;
            *at = side->next;
            free(side);
            return;
        }
}

void shared_events_prepare(void)
{
    event_record = driver.cuEventRecord;
    event_record_with_flags = driver.cuEventRecordWithFlags;
    event_query = driver.cuEventQuery;
    event_synchronize = driver.cuEventSynchronize;
    event_destroy = driver.cuEventDestroy_v2;
    stream_wait = driver.cuStreamWaitEvent;
    if (!event_record || !event_query || !event_synchronize || !event_destroy || !stream_wait ||
        !driver.cuStreamWriteValue32_v2 || !driver.cuStreamWaitValue32_v2)
        return;
    driver.cuEventRecord = shared_events_record;
    if (event_record_with_flags)
        driver.cuEventRecordWithFlags = record_with_flags;
    driver.cuEventQuery = shared_events_query;
    driver.cuEventSynchronize = shared_events_synchronize;
    driver.cuEventDestroy_v2 = shared_events_destroy;
    driver.cuStreamWaitEvent = wait_in_stream;
    context_watch(shared_events_forget_context);
}

void shared_events_orphaned(const struct control_export_inherited *gone)
{
    uint32_t words[2];

    SCOPED_LOCK(&lock);
    for (const struct shared_event *at = events; at; at = at->next)
        if (at->opened && !memcmp(at->token, gone->token, sizeof(at->token)) &&
            read_cell(at, words) == CUDA_SUCCESS)
            write_word(at, DONE, words[RECORDED]);
}

// ---- sharing; under lock ----

static bool shared_events_enter(struct serve *serve, const struct shared_event *event)
{
    struct shared_event *made = malloc(sizeof(*made));

    if (!made) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return false;
    }
    *made = *event;
    made->next = events;
    events = made;
    atomic_store_explicit(&any, true, memory_order_release);
    return true;
}

static CUdeviceptr take_cell(struct event_side *side)
{
    if (side->used == CELLS)
        side->page = 0;
    if (!side->page) {
        if (driver.cuMemAlloc_v2(&side->page, PAGE_BYTES) != CUDA_SUCCESS) {
            side->page = 0;
            return 0;
        }
        side->used = 0;
    }
    return side->page + side->used++ * CELL_BYTES;
}

// Its last record, if any, is the cell's first: it is done when the side's stream has come to it.
static CUresult begin_cell(const struct shared_event *event)
{
    CUresult result = write_word(event, DONE, 0);

    if (result == CUDA_SUCCESS)
        result = write_word(event, RECORDED, 1);
    if (result == CUDA_SUCCESS)
        result = stream_wait(event->side->stream, event->event, 0);
    return result ? result
                  : driver.cuStreamWriteValue32_v2(event->side->stream, event->cell + DONE * 4, 1,
                                                   CU_STREAM_WRITE_VALUE_DEFAULT);
}

static void export_cell(struct serve *serve, CUdevice device, const struct shared_event *event,
                        uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    struct control_export wanted = {.kind = CONTROL_EXPORT_KIND_EVENT,
                                    .device = (uint32_t)session_device_of(device),
                                    .size = event->cell - event->side->page};
    CUipcMemHandle handle;

    serve_fail(serve, driver.cuIpcGetMemHandle(&handle, event->side->page));
    if (serve_failed(serve))
        return;
    memcpy(wanted.handle, &handle, sizeof(handle));
    serve_fail(serve, ask_share(&wanted, -1, token));
    if (!serve_failed(serve) && !shared_add((uintptr_t)event->event, token))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

static void share(struct serve *serve, CUevent event, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    struct shared_event made = {.event = event};
    CUdevice device = 0;

    serve_fail(serve, driver.cuCtxGetDevice(&device));
    SCOPED_LOCK(&lock);
    made.side = serve_failed(serve) ? NULL : shared_events_side_of(serve->current);
    made.cell = made.side ? take_cell(made.side) : 0;
    if (!made.cell)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (serve_failed(serve))
        return;
    serve_fail(serve, begin_cell(&made));
    if (!serve_failed(serve))
        export_cell(serve, device, &made, token);
    memcpy(made.token, token, sizeof(made.token));
    if (!serve_failed(serve))
        shared_events_enter(serve, &made);
}

void serve_event_share(struct serve *serve, const struct args_event_share *args, CUevent event)
{
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES] = {0};

    if (!serve_require(serve, driver.cuIpcGetMemHandle) ||
        !serve_require(serve, driver.cuStreamWaitValue32_v2))
        return;
    if (!shared_find((uintptr_t)event, token))
        share(serve, event, token);
    if (!serve_failed(serve))
        serve_reply_bytes(serve, token, sizeof(token));
}

static void open_cell(struct serve *serve, struct shared_event *made,
                      const struct control_redeemed *redeemed)
{
    CUipcMemHandle handle;

    memcpy(&handle, redeemed->handle, sizeof(handle));
    serve_fail(serve, driver.cuIpcOpenMemHandle_v2(&made->opened, handle,
                                                   CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    if (serve_failed(serve))
        return;
    made->cell = made->opened + redeemed->size;
    serve_fail(serve, driver.cuEventCreate(&made->event, CU_EVENT_DISABLE_TIMING));
    SCOPED_LOCK(&lock);
    made->side = shared_events_side_of(serve->current);
    if (!serve_failed(serve) && made->side &&
        import_add((uintptr_t)made->event, redeemed, made->token) &&
        shared_events_enter(serve, made))
        return;
    serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

void serve_event_redeem(struct serve *serve, const struct args_event_redeem *args)
{
    struct shared_event made = {0};
    struct control_redeemed redeemed;
    int fd = -1;

    if (args->bytes != sizeof(made.token) || !serve_bytes(serve, args + 1, args->bytes))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_require(serve, driver.cuIpcOpenMemHandle_v2))
        return;
    memcpy(made.token, args + 1, sizeof(made.token));
    serve_fail(serve, ask_redeem(CONTROL_EXPORT_KIND_EVENT, made.token, &redeemed, &fd));
    if (serve_failed(serve))
        return;
    if (redeemed.size > PAGE_BYTES - CELL_BYTES)
        serve_fail(serve, CUDA_ERROR_UNKNOWN);
    else
        open_cell(serve, &made, &redeemed);
    if (serve_failed(serve))
        ask_no_more(made.token, false);
    else
        serve_bind(serve, HANDLE_EVENT, args->event, made.event, serve_context(serve));
}

void serve_event_settled(struct serve *serve, const struct args_event_settled *args)
{
    serve_handle(serve, HANDLE_EVENT, args->event);
}
