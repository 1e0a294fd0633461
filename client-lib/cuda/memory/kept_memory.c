// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/memory/kept_memory.h"

#include <pthread.h>
#include <sys/queue.h>
#include <time.h>

#include "client-lib/cuda/memory/page_locked.h"
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
    uint64_t wire;  // the context's handle on the wire
    uint64_t since; // ns of the monotonic clock
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

static bool is_wanted(const struct kept *one, const struct allocation *wanted)
{
    return one->memory.size == wanted->size && one->memory.context == wanted->context &&
           one->memory.host == wanted->host && one->memory.host_flags == wanted->host_flags &&
           !kept_is_gone(one);
}

bool kept_take(struct allocation *wanted)
{
    if (is_failed(wanted->context) || captures_any())
        return false;
    SCOPED_LOCK(&lock);
    struct kept *one;
    TAILQ_FOREACH_REVERSE(one, &kept, kept_list, link)
        if (is_wanted(one, wanted)) {
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

static bool give_back_if_idle(const struct kept *old)
{
    bool idle = idle_is_known(old->memory.session);
    if (kept_is_gone(old) && !old->memory.host)
        return true;
    if (!idle || thread_push_context((CUcontext)(uintptr_t)old->memory.context) != CUDA_SUCCESS)
        return idle;
    if (old->memory.host)
        (void)page_locked_unmake(&old->memory);
    else
        idle = free_device_memory(&old->memory);
    thread_pop_context(NULL);
    return idle;
}

// Gives the memory back, and waits for the GPU. The caller holds the lock.
static void kept_give_back(struct kept *old)
{
    bool entered;
    if (old->memory.host) {
        (void)page_locked_unmake(&old->memory);
    } else if (!kept_is_gone(old) && memory_enter(&old->memory, &entered) == CUDA_SUCCESS) {
        (void)remote_memory_free(old->memory.base);
        memory_leave(entered);
    }
    kept_take_out(old);
}

bool kept_make_room(CUresult result)
{
    struct object *context;
    struct kept *one, *next;
    bool any = false;
    if (result != CUDA_ERROR_OUT_OF_MEMORY || thread_context_object(&context) != CUDA_SUCCESS)
        return false;
    SCOPED_LOCK(&lock);
    for (one = TAILQ_FIRST(&kept); one; one = next) {
        next = TAILQ_NEXT(one, link);
        if (one->memory.session != context->session)
            continue;
        kept_give_back(one);
        any = true;
    }
    return any;
}

// Gives memory back that has been kept for KEPT_NS. Returns how long to wait until the next look;
// while the GPU is busy, twice as long as the last time.
static uint64_t give_back_old(uint64_t waited)
{
    struct kept *oldest;
    while ((oldest = TAILQ_FIRST(&kept))) {
        uint64_t age = clock_ns() - oldest->since;
        if (age < KEPT_NS)
            return KEPT_NS - age;
        if (!give_back_if_idle(oldest))
            return waited < SECOND_NS ? 2 * waited : waited;
        kept_take_out(oldest);
    }
    return 0;
}

static void *kept_watch(void *unused)
{
    uint64_t ns = KEPT_NS;
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (TAILQ_EMPTY(&kept))
            pthread_cond_wait(&more, &lock);
        ns = give_back_old(ns ? ns : KEPT_NS);
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
    return !freed->pool && !freed->ordered && !freed->of_graph && !freed->of_module &&
           !freed->imported && !freed->exported && !freed->sync_copies && !freed->managed &&
           !freed->memory && session_knows(freed->session, OP_memory_free);
}

static bool is_plain_on_host(const struct allocation *freed)
{
    return !freed->registered && !freed->mirrored && !freed->elsewhere && !freed->slab;
}

bool kept_suits(const struct allocation *freed)
{
    return freed->size <= KEPT_BYTES_MAX / 4 && session_count == 1 && !captures_any() &&
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

bool kept_give(const struct allocation *freed)
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
    struct kept *one;
    SCOPED_LOCK(&lock);
    while ((one = TAILQ_FIRST(&kept)) && give_back_if_idle(one))
        kept_take_out(one);
    TAILQ_FOREACH(one, &kept, link)
        if (!one->memory.host && one->memory.device == device && !kept_is_gone(one))
            sum += one->memory.size;
    return sum;
}
