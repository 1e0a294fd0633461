// SPDX-License-Identifier: BSD-3-Clause
// The GPU copies into a block in the order of the client's stream, which does not wait, and then
// writes a flag. The next thread that detects the GPU's progress sends the data before its report,
// in the same segment; so a copy and its synchronization take as long as the synchronization alone.
// For a program that only polls its memory, a thread sends the data after a short time.
#include "daemon/worker/copy/staged/small_pull.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/base/clock.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/copy/staged/pull.h"
#include "daemon/worker/copy/parts/staging.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

enum {
    SLOTS = 64, // each has a flag, of those that links which share memory need for other things
    LOOK_US = 1000,
};

_Static_assert((int)SLOTS <= (int)LINK_FLAGS, "each has a flag");

struct small_pull {
    uint32_t job;
    uint64_t number; // pull_number()
    uint32_t size;
    CUcontext context;
    struct block *block;
    unsigned slot;
    uint32_t value; // the flag's value after the copy
    bool over;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static struct small_pull list[SLOTS]; // under lock, in the order of the requests
static _Atomic unsigned count;        // written under lock
static uint64_t slots_taken;          // under lock, as is what follows
static uint32_t last_value;
static bool asleep; // the thread sleeps until one is added
static bool started;

static void small_pull_end(const struct small_pull *pull, CUresult result)
{
    struct wire_job_end body = {.job = pull->job, .result = (int32_t)result};

    if (result == CUDA_SUCCESS)
        event_send_ahead(EVENT_PULLED_SMALL, &body, sizeof(body), pull->block->data, pull->size);
    else
        event_send(EVENT_PULLED, &body, sizeof(body), 0);
    staging_give(pull->block);
    slots_taken &= ~(UINT64_C(1) << pull->slot);
}

static bool is_done(const struct small_pull *pull)
{
    const _Atomic uint32_t *flag = (_Atomic uint32_t *)pinned.staging->flags + pull->slot;

    return atomic_load_explicit(flag, memory_order_acquire) == pull->value;
}

// Returns true if the copy is done and all earlier pulls were sent.
static bool may_be_sent(const struct small_pull *pull)
{
    return is_done(pull) && !pull_unsent_before(pull->number);
}

// Those that are over leave the list; under lock.
static void end_over(CUresult result)
{
    unsigned left = 0;

    for (unsigned i = 0; i < count; i++) {
        if (list[i].over)
            small_pull_end(&list[i], result);
        else
            list[left++] = list[i];
    }
    count = left;
}

// Those before NUMBER; under lock. Asked from the last to the first: if a copy is done, those that
// it came behind are found done as well, and arrive before it.
static void send_done(uint64_t number)
{
    for (unsigned i = count; i-- > 0;)
        list[i].over = list[i].number < number && may_be_sent(&list[i]);
    end_over(CUDA_SUCCESS);
}

void small_pull_deliver_before(uint64_t number)
{
    if (!atomic_load_explicit(&count, memory_order_acquire))
        return;
    SCOPED_LOCK(&lock);
    send_done(number);
}

void small_pull_deliver(void)
{
    small_pull_deliver_before(UINT64_MAX);
}

bool small_pull_any_in(CUcontext context)
{
    if (!atomic_load_explicit(&count, memory_order_acquire))
        return false;
    SCOPED_LOCK(&lock);
    for (unsigned i = 0; i < count; i++)
        if (list[i].context == context)
            return true;
    return false;
}

static void small_pull_forget_context(CUcontext context)
{
    if (!atomic_load_explicit(&count, memory_order_acquire))
        return;
    SCOPED_LOCK(&lock);
    for (unsigned i = 0; i < count; i++)
        list[i].over = list[i].context == context;
    end_over(CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

// Sends data that no request has queried for a while.
static void *look_main(void *unused)
{
    SCOPED_LOCK(&lock);
    for (;;) {
        asleep = !count;
        if (asleep) {
            pthread_cond_wait(&added, &lock);
        } else {
            clock_wait(&added, &lock, LOOK_US);
            send_done(UINT64_MAX);
            link_flush(session.link);
        }
    }
    return NULL;
}

int small_pull_start(void)
{
    pthread_t thread;
    int err = pthread_create(&thread, NULL, look_main, NULL);

    context_watch(small_pull_forget_context);
    if (!err)
        pthread_detach(thread);
    started = !err;
    return -err;
}

// ---- requests ----

// A place for one more; false: there is none now.
static bool small_pull_take_place(struct small_pull *pull)
{
    SCOPED_LOCK(&lock);
    if (!~slots_taken || !(pull->block = staging_take(STAGING_SMALL, false)))
        return false;
    pull->slot = (unsigned)__builtin_ctzll(~slots_taken);
    slots_taken |= UINT64_C(1) << pull->slot;
    pull->value = ++last_value ? last_value : ++last_value;
    return true;
}

static CUresult small_pull_queue(const struct small_pull *pull, CUdeviceptr src, CUstream stream)
{
    CUresult result = driver.cuMemcpyDtoHAsync_v2(pull->block->data, src, pull->size, stream);

    if (result != CUDA_SUCCESS)
        return result;
    return driver.cuStreamWriteValue32_v2(stream, pinned.flags_device + (size_t)pull->slot * 4,
                                          pull->value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

static void small_pull_add(const struct small_pull *pull)
{
    SCOPED_LOCK(&lock);
    list[count] = *pull;
    count++;
    if (asleep)
        pthread_cond_signal(&added);
}

void serve_pull_small(struct serve *serve, const struct args_pull_small *args)
{
    struct args_pull larger = {
        .job = args->job, .src = args->src, .size = args->size, .stream = args->stream};
    struct small_pull pull = {.job = args->job, .context = serve->current};
    CUstream stream = serve_handle(serve, HANDLE_STREAM, args->stream);
    bool small = started && args->size && args->size <= WIRE_INLINE_MAX &&
                 driver.cuStreamWriteValue32_v2 && !serve_failed(serve) &&
                 serve_device_range(serve, args->src, args->size);

    // With no place left, and to be refused, it is like any other.
    if (!small || !small_pull_take_place(&pull)) {
        serve_pull(serve, &larger);
        return;
    }
    pull.size = (uint32_t)args->size;
    pull.number = pull_number();
    CUresult result = small_pull_queue(&pull, args->src, stream);
    if (result == CUDA_SUCCESS) {
        small_pull_add(&pull);
    } else {
        SCOPED_LOCK(&lock);
        small_pull_end(&pull, result);
        serve_fail(serve, result);
    }
}
