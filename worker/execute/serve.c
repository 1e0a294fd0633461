// SPDX-License-Identifier: BSD-3-Clause
// One request being served: its record is checked, its context made current, its handler called and
// its reply sent. What the generated and the hand-written handlers use is here too.
#include "worker/execute/shortage.h"
#include "worker/execute/serve.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "worker/execute/pools.h"
#include "worker/intake/relief.h"
#include "worker/move/gates.h"
#include "worker/setup.h"
#include "worker/worker.h"
#include "common/wait.h"
#include "worker_serve.h"

struct serve *serve_new(void)
{
    struct serve *serve = calloc(1, sizeof(*serve));

    if (!serve)
        return NULL;
    serve->record = aligned_alloc(64, WIRE_RECORD_MAX);
    serve->bytes = aligned_alloc(64, SERVE_BYTES_MAX);
    if (!serve->record || !serve->bytes)
        serve_free(&serve);
    return serve;
}

void serve_free(struct serve **serve)
{
    free((*serve)->record);
    free((*serve)->bytes);
    free(*serve);
    *serve = NULL;
}

void serve_fail(struct serve *serve, CUresult result)
{
    if (serve->result == CUDA_SUCCESS)
        serve->result = result;
}

bool serve_failed(const struct serve *serve)
{
    return serve->result != CUDA_SUCCESS;
}

bool serve_require(struct serve *serve, const void *function)
{
    if (!function)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    return function && !serve_failed(serve);
}

// ---- handles ----

void *serve_handle(struct serve *serve, enum handle_kind kind, uint64_t handle)
{
    if (kind == HANDLE_STREAM && handle <= 1)
        return (void *)(uintptr_t)handle;
    void *object = handle_find(session.handles, handle, kind);
    if (!object && kind == HANDLE_FUNCTION)
        object = handle_find(session.handles, handle, HANDLE_KERNEL);
    if (!object)
        serve_fail(serve, kind == HANDLE_CONTEXT ? CUDA_ERROR_INVALID_CONTEXT
                                                 : CUDA_ERROR_INVALID_HANDLE);
    return object;
}

CUdevice serve_device(struct serve *serve, int32_t device)
{
    if (device >= 0 && (unsigned)device < session.device_count)
        return devices.list[session.ordinals[device]].handle;
    serve_fail(serve, CUDA_ERROR_INVALID_DEVICE);
    return CU_DEVICE_INVALID;
}

uint64_t serve_context(const struct serve *serve)
{
    return serve->request->context;
}

void serve_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
                uint64_t parent)
{
    if (handle_type(handle) != (unsigned)kind || handle_bind(session.handles, handle, object)) {
        serve_fail(serve, CUDA_ERROR_INVALID_HANDLE);
        return;
    }
    session.notes[handle_index(handle)] = (struct handle_note){.parent = parent};
}

static void forget_if_child(void *opaque, uint64_t handle, void *object)
{
    uint64_t wanted = *(const uint64_t *)opaque, parent = handle;

    // Notes outlive their handles, so the chain holds even where its middle is gone already.
    for (unsigned depth = 0; depth < 4 && parent; depth++) {
        parent = session.notes[handle_index(parent)].parent;
        if (parent == wanted) {
            handle_release(session.handles, handle, handle_type(handle));
            return;
        }
    }
}

void serve_forget_children(uint64_t parent)
{
    if (parent)
        handle_table_each(session.handles, 0, forget_if_child, &parent);
}

void serve_unbind(struct serve *serve, enum handle_kind kind, uint64_t handle)
{
    if (!handle_release(session.handles, handle, kind))
        return;
    if (kind == HANDLE_CONTEXT || kind == HANDLE_MODULE || kind == HANDLE_LIBRARY)
        serve_forget_children(handle);
}

struct search {
    const void *object;
    uint64_t found;
};

static void compare(void *opaque, uint64_t handle, void *object)
{
    struct search *search = opaque;

    if (object == search->object)
        search->found = handle;
}

uint64_t serve_handle_of(enum handle_kind kind, const void *object)
{
    struct search search = {.object = object};

    handle_table_each(session.handles, kind, compare, &search);
    return search.found;
}

// ---- what comes behind the arguments ----

bool serve_bytes(struct serve *serve, const void *at, uint32_t length)
{
    if (length <= (size_t)(serve->end - (const uint8_t *)at))
        return true;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return false;
}

const char *serve_string(struct serve *serve, const void *at, uint32_t length)
{
    const char *text = at;

    if (!serve_bytes(serve, at, length))
        return NULL;
    if (length && text[length - 1] == '\0')
        return text;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return NULL;
}

// ---- replies ----

void serve_reply(struct serve *serve, const void *reply, size_t size)
{
    if (size > sizeof(serve->fixed)) {
        log_error("op=%s reply=%zu is longer than a reply may be",
                  cuda_op_name(serve->request->op), size);
        serve_fail(serve, CUDA_ERROR_UNKNOWN);
        return;
    }
    memcpy(serve->fixed, reply, size);
    serve->fixed_size = (uint32_t)size;
}

void serve_reply_bytes(struct serve *serve, const void *bytes, size_t size)
{
    if (size > SERVE_BYTES_MAX) {
        log_error("op=%s bytes=%zu is more than a reply carries",
                  cuda_op_name(serve->request->op), size);
        serve_fail(serve, CUDA_ERROR_UNKNOWN);
        return;
    }
    if (bytes != serve->bytes)
        memcpy(serve->bytes, bytes, size);
    serve->bytes_size = (uint32_t)size;
}

uint32_t serve_reply_room(const struct serve *serve, uint32_t wanted)
{
    return wanted < WIRE_INLINE_MAX ? wanted : WIRE_INLINE_MAX;
}

static void send_reply(struct serve *serve)
{
    uint32_t fixed = serve_failed(serve) ? 0 : serve->fixed_size;
    uint32_t size = (uint32_t)sizeof(struct wire_event) + fixed + ((serve->bytes_size + 7) & ~7u);
    struct wire_event *event = link_reserve(session.link, size);

    if (!event)
        return; // the reading thread sees that the link is down and ends the session
    *event = (struct wire_event){
        .size = size,
        .kind = EVENT_REPLY,
        .call = serve->request->call,
        .result = (int32_t)serve->result,
        .deferred = atomic_exchange_explicit(&session.deferred, 0, memory_order_relaxed),
        .bytes = serve->bytes_size,
    };
    memcpy(event + 1, serve->fixed, fixed);
    memcpy((uint8_t *)(event + 1) + fixed, serve->bytes, serve->bytes_size);
    memset((uint8_t *)(event + 1) + fixed + serve->bytes_size, 0, -serve->bytes_size & 7);
    link_commit_flush(session.link);
}

static void keep_failure(struct serve *serve)
{
    int none = 0;

    log_debug("op=%s result=%s", cuda_op_name(serve->request->op),
              driver_error_name(serve->result));
    atomic_compare_exchange_strong(&session.deferred, &none, (int)serve->result);
}

// ---- contexts ----

static void enter_context(struct serve *serve, uint64_t handle)
{
    uint32_t epoch = atomic_load_explicit(&session.context_epoch, memory_order_acquire);
    CUcontext context = NULL;

    if (handle) {
        context = handle_find(session.handles, handle, HANDLE_CONTEXT);
        if (!context) {
            serve_fail(serve, CUDA_ERROR_CONTEXT_IS_DESTROYED);
            return;
        }
    }
    if (context == serve->current && epoch == serve->epoch)
        return;
    CUresult result = driver.cuCtxSetCurrent(context);
    serve->current = result == CUDA_SUCCESS ? context : NULL;
    // A failure leaves it open what is current, so the next request asks again.
    serve->epoch = result == CUDA_SUCCESS ? epoch : epoch - 1;
    serve_fail(serve, result);
}

// ---- addresses ----

static bool known_by_driver(uint64_t address, uint64_t *start, uint64_t *end)
{
    CUmemorytype type = 0;
    CUdeviceptr base = 0;
    size_t size = 0;

    if (!driver.cuPointerGetAttribute ||
        driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) !=
            CUDA_SUCCESS ||
        type != CU_MEMORYTYPE_DEVICE ||
        driver.cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) !=
            CUDA_SUCCESS ||
        driver.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) !=
            CUDA_SUCCESS)
        return false;
    *start = base;
    *end = base + size;
    return address >= *start && address < *end;
}

bool serve_device_range(struct serve *serve, uint64_t address, uint64_t size)
{
    uint32_t epoch = atomic_load_explicit(&session.memory_epoch, memory_order_acquire);

    if (serve->known_epoch != epoch || address < serve->known_start ||
        address >= serve->known_end) {
        if (!allocation_find(address, &serve->known_start, &serve->known_end) &&
            !known_by_driver(address, &serve->known_start, &serve->known_end)) {
            serve->known_end = 0;
            serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
            return false;
        }
        serve->known_epoch = epoch;
    }
    if (size <= serve->known_end - address)
        return true;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return false;
}

// ---- waiting ----

// How long requests have waited for the GPU of late.
static struct patience patience;

// Whether to ask again: the spin time is not over and nobody else has sent anything. After a moment it
// lets others run, of whom one may be the GPU.
static bool ask_again(uint64_t start)
{
    uint64_t passed = clock_ns() - start;

    if (passed >= patience_ns(&patience, setup_spin_us()) || link_pending(session.link))
        return false;
    if (passed >= (uint64_t)setup_spin_us() * 1000)
        sched_yield();
    return true;
}

// Asks QUERY until it is done, somebody else sends something, or the spin time is over.
#define SPIN_WHILE_ALONE(query) \
    do { \
        uint64_t start_ = clock_ns(); \
        while ((query) == CUDA_ERROR_NOT_READY && ask_again(start_)) \
            ; \
    } while (0)

CUresult serve_wait_stream(struct serve *serve, CUstream stream)
{
    CUresult result = CUDA_ERROR_NOT_READY;
    uint64_t start = clock_ns();

    if (driver.cuStreamQuery && serve->reading)
        SPIN_WHILE_ALONE(result = driver.cuStreamQuery(stream));
    if (result == CUDA_ERROR_NOT_READY) {
        serve_let_others_read(serve);
        result = driver.cuStreamSynchronize(stream);
    }
    patience_note(&patience, clock_ns() - start);
    return result;
}

// A wait that is over within microseconds is cheaper here than handing the link to another thread.
// Where kernels print, only the real synchronize makes the driver bring out the text.
static void prepare_to_block(struct serve *serve, const struct serve_entry *entry)
{
    CUresult result = CUDA_ERROR_NOT_READY;

    if (entry->traits & TRAIT_SELF_WAITING)
        return;
    if ((entry->traits & TRAIT_BRIEF) && serve->reading && relief_linger(serve))
        return;
    if (entry->query)
        SPIN_WHILE_ALONE(result = entry->query(serve, serve->request + 1));
    if (result != CUDA_SUCCESS && !serve_failed(serve))
        serve_let_others_read(serve);
}

void serve_drain(struct serve *serve)
{
    struct gate_drain drain;

    // Asked for first, so that what is read later comes later.
    if (gates_ask_drain(&drain))
        return;
    serve_let_others_read(serve);
    gates_await_drain(&drain);
}

void serve_drained(void)
{
    gates_drained();
}

static bool learned_of_completion(const struct serve *serve, const struct serve_entry *entry)
{
    return entry->kind == SERVE_BLOCKING ||
           ((entry->traits & TRAIT_COMPLETES) && serve->result == CUDA_SUCCESS);
}

void deliver(void)
{
    if (atomic_load_explicit(&session.prints, memory_order_relaxed))
        print_deliver();
    pull_deliver();
    reach_deliver();
    pools_settle();
}

// ---- one record ----

const struct serve_entry *serve_check(struct serve *serve, uint32_t size)
{
    const struct wire_request *request = (const void *)serve->record;

    serve->request = request;
    if (size < sizeof(*request) || request->size != size || request->flags ||
        request->op >= CUDA_OP_LIMIT)
        return NULL;
    const struct serve_entry *entry = &serve_table[request->op];
    uint32_t body = size - (uint32_t)sizeof(*request);
    if (!entry->handle || (entry->tail ? body < entry->args_size : body != entry->args_size))
        return NULL;
    return entry->check && !entry->check(request + 1) ? NULL : entry;
}

static void execute(struct serve *serve, const struct serve_entry *entry)
{
    uint64_t start = entry->query ? clock_ns() : 0;
    bool drains = entry->traits & TRAIT_DRAINS;

    if (!(entry->traits & TRAIT_ROW))
        reach_break_row();
    if (drains) // before the context is looked up, which may go meanwhile
        serve_drain(serve);
    if (!(entry->traits & TRAIT_CONTEXTLESS))
        enter_context(serve, serve->request->context);
    if (!serve_failed(serve) && entry->kind == SERVE_BLOCKING)
        prepare_to_block(serve, entry);
    if (!serve_failed(serve) || (entry->traits & TRAIT_ANSWERS))
        entry->handle(serve, serve->request + 1);
    if (drains)
        serve_drained();
    if (start)
        patience_note(&patience, clock_ns() - start);
}

bool serve_record(struct serve *serve, uint32_t size)
{
    const struct serve_entry *entry = serve_check(serve, size);

    if (!entry)
        return false;
    serve->end = serve->record + size;
    serve->result = CUDA_SUCCESS;
    serve->fixed_size = serve->bytes_size = 0;
    atomic_fetch_add_explicit(&session.calls, 1, memory_order_relaxed);
    execute(serve, entry);
    if (serve_failed(serve))
        shortage_note(serve);
    if (learned_of_completion(serve, entry))
        deliver();
    if (serve->request->call)
        send_reply(serve);
    else if (serve_failed(serve))
        keep_failure(serve);
    free(serve->payload);
    serve->payload = NULL;
    return true;
}
