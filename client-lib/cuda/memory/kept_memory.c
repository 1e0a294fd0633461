// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/memory/kept_memory.h"

#include <pthread.h>
#include <sys/queue.h>
#include <time.h>

#include "client-lib/cuda/memory/page_locked.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/work/captures.h"
#include "client_calls.h"
#include "common/base/clock.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

enum { KEPT_MAX = 128 };

#define KEPT_BYTES_MAX ((size_t)64 << 20)
#define SECOND_NS UINT64_C(1000000000)
#define KEPT_NS (SECOND_NS / 20)

struct kept {
    TAILQ_ENTRY(kept) link;
    struct allocation memory;
    CUstream stream; // of ordered memory: where it was freed
    uint64_t wire;   // the context's handle on the wire
    uint64_t since;  // ns of the monotonic clock
};
TAILQ_HEAD(kept_list, kept);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct kept entries[KEPT_MAX];
static struct kept_list kept = TAILQ_HEAD_INITIALIZER(kept); // oldest first
static struct kept_list spare = TAILQ_HEAD_INITIALIZER(spare);
static size_t bytes;
static bool watched; // the thread runs

static bool is_failed(uint64_t context)
{
    struct object *object = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)context);
    return !object || atomic_load_explicit(&object->ctx.sticky, memory_order_relaxed);
}

// Returns true if the memory has ended with its context.
static bool kept_is_gone(const struct kept *one)
{
    return context_wire(one->memory.context) != one->wire;
}

// The caller holds the lock.
static void kept_take_out(struct kept *one)
{
    bytes -= one->memory.size;
    TAILQ_REMOVE(&kept, one, link);
    TAILQ_INSERT_HEAD(&spare, one, link);
}

static bool is_wanted(const struct kept *one, const struct allocation *wanted, CUstream stream)
{
    const struct allocation *memory = &one->memory;
    return memory->size == wanted->size && memory->context == wanted->context &&
           memory->host == wanted->host && memory->host_flags == wanted->host_flags &&
           memory->managed == wanted->managed && memory->ordered == wanted->ordered &&
           memory->pool == wanted->pool && one->stream == stream && !kept_is_gone(one);
}

bool kept_take(struct allocation *wanted, CUstream stream)
{
    if (is_failed(wanted->context) || captures_any())
        return false;
    SCOPED_LOCK(&lock);
    struct kept *one;
    TAILQ_FOREACH_REVERSE(one, &kept, kept_list, link)
        if (is_wanted(one, wanted, stream)) {
            *wanted = one->memory;
            kept_take_out(one);
            return true;
        }
    return false;
}

// ---- giving back ----

// Sends the request only if the GPU is idle, which no other thread can change until it is sent: the
// box waits for all GPU work before it frees memory, and takes no request meanwhile.
static bool free_device_memory(const struct allocation *memory)
{
    struct call call;
    call_begin(&call, OP_memory_free);
    struct args_memory_free *args = call_reserve(&call, sizeof(*args));
    bool idle = !args || idle_is_known(memory->session);
    if (args && !idle)
        link_cancel(memory->session->link);
    if (args && idle) {
        args->dptr = memory->base;
        (void)call_post(&call);
    }
    return idle;
}

// Returns true if the memory can be freed in the order of its stream, which may have ended.
static bool frees_in_order(const struct kept *one)
{
    return one->memory.ordered &&
           (one->stream <= CU_STREAM_LEGACY || object_find(HANDLE_STREAM, one->stream));
}

// Frees memory in its context, which is current. The box waits for the GPU unless it is in order.
static void kept_release(const struct kept *old)
{
    const struct allocation *memory = &old->memory;
    before_work_memory_ends(memory);
    if (frees_in_order(old))
        (void)remote_cuMemFreeAsync(memory->base, old->stream);
    else
        (void)remote_memory_free(memory_whole(memory));
}

static bool give_back_if_idle(const struct kept *old)
{
    const struct allocation *memory = &old->memory;
    bool ready = frees_in_order(old) ? !captures_any() : idle_is_known(memory->session);
    if (kept_is_gone(old) && !memory->host)
        return true;
    if (!ready || thread_push_context((CUcontext)(uintptr_t)memory->context) != CUDA_SUCCESS)
        return ready;
    if (memory->host)
        (void)page_locked_unmake(memory);
    else if (memory->ordered || memory->managed)
        kept_release(old);
    else
        ready = free_device_memory(memory);
    thread_pop_context(NULL);
    return ready;
}

// Gives the memory back, and waits for the GPU. The caller holds the lock.
static void kept_give_back(struct kept *old)
{
    bool entered;
    if (old->memory.host) {
        (void)page_locked_unmake(&old->memory);
    } else if (!kept_is_gone(old) && memory_enter(&old->memory, &entered) == CUDA_SUCCESS) {
        kept_release(old);
        memory_leave(entered);
    }
    kept_take_out(old);
}

enum { KEPT_ORDERED = 1, KEPT_PLAIN = 2, KEPT_ON_HOST = 4 };

static unsigned int kept_kind(const struct allocation *memory)
{
    return memory->host ? KEPT_ON_HOST : memory->ordered ? KEPT_ORDERED : KEPT_PLAIN;
}

// Returns true if any was kept. The caller holds the lock.
static bool give_back_all(unsigned int kinds)
{
    bool any = false;
    kinds &= captures_any() ? ~(unsigned int)KEPT_ORDERED : kinds;
    for (struct kept *one = TAILQ_FIRST(&kept), *next; one; one = next) {
        next = TAILQ_NEXT(one, link);
        if (!(kinds & kept_kind(&one->memory)))
            continue;
        kept_give_back(one);
        any = true;
    }
    return any;
}

void kept_give_back_ordered(void)
{
    SCOPED_LOCK(&lock);
    (void)give_back_all(KEPT_ORDERED);
}

void kept_context_ends(void)
{
    pthread_mutex_lock(&lock);
    (void)give_back_all(KEPT_ORDERED);
}

CUresult kept_context_ended(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

bool kept_make_room(CUresult result)
{
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return false;
    SCOPED_LOCK(&lock);
    // A pool gives memory back to the GPU when its work has been waited for.
    bool ordered = give_back_all(KEPT_ORDERED);
    if (ordered)
        (void)remote_cuCtxSynchronize();
    return give_back_all(KEPT_PLAIN | KEPT_ON_HOST) || ordered;
}

// Gives memory back that has been kept for KEPT_NS. Returns how long to wait until the next look;
// while the GPU is busy, twice as long as the last time.
static uint64_t give_back_old(uint64_t waited)
{
    bool busy = false;
    for (struct kept *one = TAILQ_FIRST(&kept), *next; one; one = next) {
        next = TAILQ_NEXT(one, link);
        uint64_t age = clock_ns() - one->since;
        if (age < KEPT_NS)
            return KEPT_NS - age;
        if (give_back_if_idle(one))
            kept_take_out(one);
        else
            busy = true;
    }
    return !busy ? KEPT_NS : waited < SECOND_NS ? 2 * waited : waited;
}

static void *kept_watch(void *unused)
{
    uint64_t ns = KEPT_NS;
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (TAILQ_EMPTY(&kept))
            pthread_cond_wait(&more, &lock);
        ns = give_back_old(ns);
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / SECOND_NS),
                                     .tv_nsec = (long)(ns % SECOND_NS)},
                  NULL);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

// ---- keeping ----

static bool kept_is_plain(const struct allocation *freed)
{
    return (freed->ordered || !freed->pool) && !freed->of_graph && !freed->of_module &&
           !freed->imported && !freed->exported && !freed->sync_copies && !freed->memory &&
           session_knows(freed->session, OP_memory_free);
}

static bool is_plain_on_host(const struct allocation *freed)
{
    return !freed->registered && !freed->mirrored && !freed->elsewhere && !freed->slab;
}

bool kept_suits(const struct allocation *freed)
{
    return freed->size <= KEPT_BYTES_MAX / 4 && session_count == 1 && !captures_any() &&
           !is_failed(freed->context) &&
           (freed->host ? is_plain_on_host(freed) : kept_is_plain(freed));
}

// The caller holds the lock.
static bool kept_watch_begins(void)
{
    pthread_t thread;
    if (watched)
        return true;
    if (quiet_thread_start(&thread, kept_watch, NULL))
        return false;
    pthread_detach(thread);
    for (size_t i = 0; i < KEPT_MAX; i++)
        TAILQ_INSERT_TAIL(&spare, &entries[i], link);
    watched = true;
    return true;
}

bool kept_give(const struct allocation *freed, CUstream stream)
{
    if (!kept_suits(freed))
        return false;
    SCOPED_LOCK(&lock);
    if (!kept_watch_begins())
        return false;
    while (TAILQ_EMPTY(&spare) || bytes + freed->size > KEPT_BYTES_MAX)
        kept_give_back(TAILQ_FIRST(&kept));
    struct kept *one = TAILQ_FIRST(&spare);
    one->memory = *freed;
    one->stream = stream;
    one->wire = context_wire(freed->context);
    one->since = clock_ns();
    bytes += freed->size;
    if (TAILQ_EMPTY(&kept))
        pthread_cond_signal(&more);
    TAILQ_REMOVE(&spare, one, link);
    TAILQ_INSERT_TAIL(&kept, one, link);
    return true;
}

size_t kept_bytes(CUdevice device)
{
    size_t sum = 0;
    SCOPED_LOCK(&lock);
    for (struct kept *one = TAILQ_FIRST(&kept), *next; one; one = next) {
        next = TAILQ_NEXT(one, link);
        if (give_back_if_idle(one))
            kept_take_out(one);
        else if (!one->memory.host && one->memory.device == device)
            sum += one->memory.size;
    }
    return sum;
}
