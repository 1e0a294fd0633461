// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/copy/parts/held_frees.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/core/session.h"

enum held_state { HELD_IDLE, HELD_TAKEN, HELD_WAITING, HELD_QUEUED };

// It stays when its free is over, for the next one in the same context.
struct free_on_hold {
    _Atomic int state;
    CUcontext context; // NULL: the stream and the event have not been made, or went with it
    CUstream stream;
    CUevent start; // recorded where the program's stream was
    CUdeviceptr address;
    uint64_t end;
    _Atomic int semaphore; // -1: none
    uint32_t value;
    struct free_on_hold *next;
};

// Both under the lock, which is taken last: a semaphore's alone is taken under it.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct copied_range *copies;
static struct free_on_hold *frees;

// Copies that begin before the program first frees memory in the order of a stream are only
// counted, and taken for copies of all memory. Most programs never do, and their copies take no
// lock.
static _Atomic bool frees_come;
static _Atomic unsigned counted; // copies that are under way and not in the list
static _Atomic unsigned listed;  // those that are
static _Atomic unsigned waiting; // frees

static bool is_copied(uint64_t start, uint64_t end)
{
    if (atomic_load(&counted))
        return true;
    for (const struct copied_range *copy = copies; copy; copy = copy->next)
        if (copy->start < end && start < copy->end)
            return true;
    return false;
}

// ---- the end of a free ----

static void leave_semaphore(struct free_on_hold *held)
{
    int semaphore = atomic_exchange(&held->semaphore, -1);

    if (semaphore >= 0)
        semaphore_release(semaphore);
}

static void held_frees_is_over(struct free_on_hold *held)
{
    leave_semaphore(held);
    atomic_store(&held->state, HELD_IDLE);
}

// The driver calls this when the memory is free and the semaphore is signalled, or the context has
// failed: a host function it would not call then, and the semaphore would keep out implicit
// synchronization for ever.
static void CUDA_CB held_frees_is_free(CUstream stream, CUresult status, void *held)
{
    held_frees_is_over(held);
}

static void note_failure(const struct free_on_hold *held, CUresult result)
{
    log_warn("memory behind a copy was not freed address=0x%llx result=%d",
             (unsigned long long)held->address, (int)result);
    session_keep_failure((int)result);
}

static CUresult ask_driver(struct free_on_hold *held)
{
    CUresult result = driver.cuMemFreeAsync(held->address, held->stream);
    int semaphore = atomic_load(&held->semaphore);

    if (result == CUDA_SUCCESS && semaphore >= 0)
        result = semaphore_signal_from(held->stream, semaphore, held->value);
    if (result == CUDA_SUCCESS)
        result = driver.cuStreamAddCallback(held->stream, held_frees_is_free, held, 0);
    return result;
}

// Under the lock.
static void held_frees_queue(struct free_on_hold *held)
{
    CUcontext before;
    CUresult result = driver.cuCtxPushCurrent_v2(held->context);

    atomic_store(&held->state, HELD_QUEUED);
    atomic_fetch_sub(&waiting, 1);
    if (result == CUDA_SUCCESS) {
        result = ask_driver(held);
        driver.cuCtxPopCurrent_v2(&before);
    }
    if (result == CUDA_SUCCESS)
        return;
    note_failure(held, result);
    if (atomic_load(&held->semaphore) >= 0)
        semaphore_signal(atomic_load(&held->semaphore), held->value);
    held_frees_is_over(held);
}

// Under the lock.
static void queue_what_is_due(void)
{
    if (!atomic_load(&waiting))
        return;
    for (struct free_on_hold *held = frees; held; held = held->next)
        if (atomic_load(&held->state) == HELD_WAITING && !is_copied(held->address, held->end))
            held_frees_queue(held);
}

// ---- copies ----

void copied_range_begin(struct copied_range *range, uint64_t start, uint64_t size)
{
    if (!atomic_load(&frees_come)) {
        *range = (struct copied_range){0};
        atomic_store(&range->counts, true);
        atomic_fetch_add(&counted, 1);
        return;
    }
    SCOPED_LOCK(&lock);
    *range =
        (struct copied_range){.start = start, .end = start + size, .at = &copies, .next = copies};
    if (copies)
        copies->at = &range->next;
    copies = range;
    atomic_fetch_add(&listed, 1);
}

// A free that begins to wait meanwhile looks at the counter after it has said so.
static void counted_is_over(void)
{
    if (atomic_fetch_sub(&counted, 1) != 1 || !atomic_load(&waiting))
        return;
    SCOPED_LOCK(&lock);
    queue_what_is_due();
}

static void listed_is_over(struct copied_range *range)
{
    SCOPED_LOCK(&lock);
    if (!range->at)
        return;
    *range->at = range->next;
    if (range->next)
        range->next->at = range->at;
    range->at = NULL;
    atomic_fetch_sub(&listed, 1);
    queue_what_is_due();
}

void copied_range_over(struct copied_range *range)
{
    if (atomic_exchange(&range->counts, false))
        counted_is_over();
    else if (atomic_load(&frees_come))
        listed_is_over(range);
}

// Copies that are requested later come after the free.
bool memory_is_copied(uint64_t start, uint64_t end)
{
    if (!atomic_load_explicit(&frees_come, memory_order_relaxed))
        atomic_store(&frees_come, true);
    if (!atomic_load(&listed) && !atomic_load(&counted))
        return false;
    SCOPED_LOCK(&lock);
    return is_copied(start, end);
}

bool copies_are_queued(void)
{
    return !atomic_load(&listed) && !atomic_load(&counted);
}

// ---- frees ----

static struct free_on_hold *take_idle(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct free_on_hold *held = frees; held; held = held->next) {
        int idle = HELD_IDLE;
        if ((!held->context || held->context == context) &&
            atomic_compare_exchange_strong(&held->state, &idle, HELD_TAKEN))
            return held;
    }
    struct free_on_hold *made = calloc(1, sizeof(*made));
    if (made) {
        atomic_init(&made->state, HELD_TAKEN);
        atomic_init(&made->semaphore, -1);
        made->next = frees;
        frees = made;
    }
    return made;
}

static CUresult held_frees_make(struct free_on_hold *held, CUcontext context)
{
    CUresult result = own_stream_create(&held->stream);

    if (result != CUDA_SUCCESS)
        return result;
    result = driver.cuEventCreate(&held->start, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        driver.cuStreamDestroy_v2(held->stream);
    else
        held->context = context;
    return result;
}

// Its stream starts where the program's is now, and that one stops behind.
static CUresult held_frees_place(const struct semaphore_pass *pass, struct free_on_hold *held,
                                 CUstream stream)
{
    int semaphore = -1;
    CUresult result = driver.cuEventRecord(held->start, stream);

    if (result == CUDA_SUCCESS)
        result = driver.cuStreamWaitEvent(held->stream, held->start, 0);
    if (result == CUDA_SUCCESS)
        result = semaphore_hold_stream(pass, stream, &semaphore, &held->value);
    atomic_store(&held->semaphore, semaphore);
    return result;
}

CUresult free_behind_copies(CUdeviceptr address, uint64_t end, CUstream stream, CUcontext context)
{
    SEMAPHORE_PASS(pass);
    struct free_on_hold *held = driver.cuStreamAddCallback ? take_idle(context) : NULL;
    if (!held)
        return CUDA_ERROR_OUT_OF_MEMORY;
    held->address = address;
    held->end = end;
    CUresult result = held->context ? CUDA_SUCCESS : held_frees_make(held, context);
    if (result == CUDA_SUCCESS)
        result = held_frees_place(&pass, held, stream);
    SCOPED_LOCK(&lock);
    atomic_store(&held->state, result == CUDA_SUCCESS ? HELD_WAITING : HELD_IDLE);
    if (result == CUDA_SUCCESS)
        atomic_fetch_add(&waiting, 1);
    queue_what_is_due();
    return result;
}

// Copies of the context have ended or failed by now. Memory of a pool outlives the context.
static void held_frees_forget_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (struct free_on_hold *held = frees; held; held = held->next) {
        if (held->context != context)
            continue;
        if (atomic_load(&held->state) == HELD_WAITING)
            held_frees_queue(held);
        if (atomic_load(&held->semaphore) >= 0)
            semaphore_signal(atomic_load(&held->semaphore), held->value);
        leave_semaphore(held);
        driver.cuStreamDestroy_v2(held->stream);
        driver.cuEventDestroy_v2(held->start);
        held->context = NULL;
    }
}

void held_frees_start(void)
{
    context_watch(held_frees_forget_context);
}
