// SPDX-License-Identifier: BSD-3-Clause
// The stream of a push waits on a semaphore. The data arrive block by block and are copied in a
// stream of the worker, whose last operation signals the semaphore.
#include "daemon/worker/copy/staged/push.h"

#include <pthread.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/activity/activity.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/core/expected.h"
#include "daemon/worker/copy/staged/deliver.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/copy/parts/staging.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

enum { JOBS_MAX = 256, PUSH_STREAMS_MAX = 64 };

// A stream of ours that one push uses at a time: a push that waits for its place in the client's
// stream holds up no other.
struct push_stream {
    CUcontext context; // NULL: the stream does not exist
    CUstream stream;
    CUevent start;
    bool busy;
};

struct push {
    bool used;
    uint32_t id;
    CUdeviceptr dst;
    uint64_t size, received;
    struct push_stream *own; // NULL: the data goes nowhere, as the push has failed
    int semaphore;           // -1: none is held
    uint32_t value;
    uint32_t call; // of the program that it is of, where work is noted
    struct copied_range copied;
};

// A block on its way to the GPU, and what ends with it.
struct push_inflight {
    struct block *block;
    struct push_stream *own; // not NULL with the last block: free from then on
    int semaphore;           // likewise, -1: none
    bool credit;             // the client may send another one for it
};

static struct push jobs[JOBS_MAX];                        // under jobs_lock
static struct push_stream push_streams[PUSH_STREAMS_MAX]; // under the mover's lock
static struct push_inflight
    inflight_blocks[STAGING_BLOCKS_MAX]; // under the mover's lock; a block is in at most one
static unsigned inflight_count;
static uint32_t first_credit; // blocks that the client may send at first; under the mover's lock
static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER; // before the mover's

static bool any_inflight(void);
static bool see_off(void);
static struct mover mover =
    MOVER(.name = "rgpu-push", .has_work = any_inflight, .advance = see_off);

// ---- streams ----

static CUresult make_push_stream(struct push_stream *own, CUcontext context)
{
    CUresult result = own_stream_create(&own->stream);

    if (result != CUDA_SUCCESS)
        return result;
    result = driver.cuEventCreate(&own->start, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) {
        driver.cuStreamDestroy_v2(own->stream);
        return result;
    }
    own->context = context;
    return CUDA_SUCCESS;
}

static CUresult take_push_stream(CUcontext context, struct push_stream **out)
{
    struct push_stream *found = NULL, *unmade = NULL;
    CUresult result = CUDA_SUCCESS;

    SCOPED_LOCK(&mover.lock);
    for (unsigned i = 0; i < PUSH_STREAMS_MAX && !found; i++) {
        if (push_streams[i].context == context && !push_streams[i].busy)
            found = &push_streams[i];
        else if (!push_streams[i].context && !push_streams[i].busy && !unmade)
            unmade = &push_streams[i];
    }
    if (!found && unmade && (result = make_push_stream(unmade, context)) == CUDA_SUCCESS)
        found = unmade;
    if (found)
        found->busy = true;
    else if (result == CUDA_SUCCESS)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    *out = found;
    return result;
}

static void push_forget_context(CUcontext context)
{
    SCOPED_LOCK(&mover.lock);
    for (unsigned i = 0; i < PUSH_STREAMS_MAX; i++) {
        if (push_streams[i].context != context)
            continue;
        driver.cuStreamDestroy_v2(push_streams[i].stream);
        driver.cuEventDestroy_v2(push_streams[i].start);
        push_streams[i].context = NULL;
    }
}

// ---- the thread that sees blocks off ----

static void push_finish(const struct push_inflight *inflight)
{
    struct wire_credit credit = {.blocks = 1};

    staging_give(inflight->block);
    if (inflight->semaphore >= 0)
        semaphore_release(inflight->semaphore);
    if (inflight->credit)
        event_send(EVENT_CREDIT, &credit, sizeof(credit), 0);
}

static bool any_inflight(void)
{
    return inflight_count > 0 || first_credit;
}

// Under the mover's lock, which is given up meanwhile. The thread that watches the session must not
// send this: if the connection is lost already, that thread takes the next one.
static bool give_first_credit(void)
{
    struct wire_credit credit = {.blocks = first_credit};

    if (!first_credit)
        return false;
    first_credit = 0;
    pthread_mutex_unlock(&mover.lock);
    event_send(EVENT_CREDIT, &credit, sizeof(credit), 0);
    pthread_mutex_lock(&mover.lock);
    return true;
}

// Removes every completed block from the list. The lock is given up while one of them is
// finished, which may wait for the link.
static bool see_off(void)
{
    bool any = give_first_credit();

    for (unsigned i = 0; i < inflight_count;) {
        CUresult result;
        if (!staging_done(inflight_blocks[i].block, &result)) {
            i++;
            continue;
        }
        struct push_inflight over = inflight_blocks[i];
        memmove(&inflight_blocks[i], &inflight_blocks[i + 1],
                (--inflight_count - i) * sizeof(inflight_blocks[0]));
        if (over.own)
            over.own->busy = false;
        any = true;
        pthread_mutex_unlock(&mover.lock);
        push_finish(&over);
        pthread_mutex_lock(&mover.lock);
    }
    return any;
}

static bool started; // before the first request

int push_start(void)
{
    staging_prepare_streamed();
    context_watch(push_forget_context);
    first_credit = staging_blocks(STAGING_PUSH);
    int err = mover_start(&mover);
    started = !err;
    return err;
}

static void add_inflight(struct push_inflight inflight)
{
    SCOPED_LOCK(&mover.lock);
    inflight_blocks[inflight_count++] = inflight;
    pthread_cond_signal(&mover.added);
}

void push_see_off(struct serve *serve, struct block *block, CUstream stream)
{
    if (!serve_failed(serve))
        serve_fail(serve, staging_record(block, serve->current, stream));
    if (serve_failed(serve))
        staging_give(block);
    else
        add_inflight((struct push_inflight){.block = block, .semaphore = -1});
}

// ---- requests ----

// jobs_lock is held.
static struct push *find_job(uint32_t id)
{
    for (unsigned i = 0; i < JOBS_MAX; i++)
        if (jobs[i].used && jobs[i].id == id)
            return &jobs[i];
    return NULL;
}

static bool add_job(const struct push *job)
{
    for (unsigned i = 0; i < JOBS_MAX; i++)
        if (!jobs[i].used) {
            jobs[i] = *job;
            if (job->own)
                copied_range_begin(&jobs[i].copied, job->dst, job->size);
            return true;
        }
    return false;
}

bool check_push_block(const void *raw)
{
    const struct args_push_block *args = raw;

    return started && args->size && args->size <= staging_block_size(STAGING_PUSH);
}

bool push_has_begun(uint32_t job)
{
    SCOPED_LOCK(&jobs_lock);
    return find_job(job);
}

// Does nothing where the push has no stream.
static void leave_push_stream(struct push *job)
{
    SCOPED_LOCK(&mover.lock);
    if (job->own)
        job->own->busy = false;
    job->own = NULL;
}

// The stream starts at the present point of the client's stream, and the client's stream stops
// after that.
static CUresult push_place(const struct semaphore_pass *pass, struct push *job, CUcontext context,
                           CUstream stream)
{
    CUresult result = take_push_stream(context, &job->own);

    if (result == CUDA_SUCCESS)
        result = driver.cuEventRecord(job->own->start, stream);
    if (result == CUDA_SUCCESS)
        result = driver.cuStreamWaitEvent(job->own->stream, job->own->start, 0);
    if (result == CUDA_SUCCESS)
        result = semaphore_hold_stream(pass, stream, &job->semaphore, &job->value);
    if (result != CUDA_SUCCESS)
        leave_push_stream(job);
    return result;
}

// Abandons a push whose data will not come: signals its semaphore and leaves its stream.
static void push_give_up(struct push *job)
{
    if (job->semaphore >= 0) {
        semaphore_signal(job->semaphore, job->value);
        semaphore_release(job->semaphore);
        job->semaphore = -1;
    }
    leave_push_stream(job);
    copied_range_over(&job->copied);
}

static void ask_for_data(uint32_t job)
{
    struct wire_wanted wanted = {.job = job};

    deliver_all();
    event_send(EVENT_WANTED, &wanted, sizeof(wanted), 0);
}

// The driver calls this when the stream has reached its start: earlier writes to the client's
// memory are done, and the data may be read from there. It also calls it if the context has failed,
// when a host function would not run: the data are then discarded.
static void CUDA_CB want_data(CUstream stream, CUresult status, void *job)
{
    ask_for_data((uint32_t)(uintptr_t)job);
}

static CUresult ask_when_due(const struct push *job)
{
    return driver.cuStreamAddCallback ? driver.cuStreamAddCallback(job->own->stream, want_data,
                                                                   (void *)(uintptr_t)job->id, 0)
                                      : CUDA_ERROR_NOT_SUPPORTED;
}

static bool push_is_known(uint32_t id)
{
    SCOPED_LOCK(&jobs_lock);
    return find_job(id);
}

static bool push_enter(const struct push *job)
{
    SCOPED_LOCK(&jobs_lock);
    return add_job(job);
}

void serve_push_begin(struct serve *serve, const struct args_push_begin *args)
{
    CUstream stream = serve_handle(serve, HANDLE_STREAM, args->stream);
    SEMAPHORE_PASS(pass);
    struct push job = {
        .used = true, .id = args->job, .dst = args->dst, .size = args->size, .semaphore = -1};

    job.call = activity_in_pieces(stream);
    if (!started || !args->size || push_is_known(args->job)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    expected_add();
    // A push that fails from the start still has to swallow its blocks.
    if (!serve_failed(serve) && serve_device_range(serve, args->dst, args->size))
        serve_fail(serve, push_place(&pass, &job, serve->current, stream));
    if (!push_enter(&job)) {
        push_give_up(&job);
        expected_came();
        serve_fail(serve, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    } else if (args->late) {
        if (job.own)
            serve_fail(serve, ask_when_due(&job));
        if (serve_failed(serve)) // its data is asked for all the same, to be swallowed
            ask_for_data(job.id);
    }
}

static void drop_block(struct block *block)
{
    const struct push_inflight nothing_else = {.block = block, .semaphore = -1, .credit = true};

    push_finish(&nothing_else);
}

static CUresult fly(struct serve *serve, struct push *job, struct block *block, uint64_t offset,
                    uint32_t size)
{
    bool last = job->received == job->size;
    CUcontext context = job->own->context;

    if (!context)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = CUDA_SUCCESS;
    if (serve->current != context) {
        result = driver.cuCtxSetCurrent(context);
        serve->current = result == CUDA_SUCCESS ? context : NULL;
    }
    activity_enter(job->call);
    if (result == CUDA_SUCCESS)
        result =
            driver.cuMemcpyHtoDAsync_v2(job->dst + offset, block->data, size, job->own->stream);
    activity_leave();
    if (result == CUDA_SUCCESS && last)
        result = semaphore_signal_from(job->own->stream, job->semaphore, job->value);
    if (result == CUDA_SUCCESS)
        result = staging_record(block, context, job->own->stream);
    if (result != CUDA_SUCCESS)
        return result;
    add_inflight((struct push_inflight){.block = block,
                                        .own = last ? job->own : NULL,
                                        .semaphore = last ? job->semaphore : -1,
                                        .credit = true});
    return CUDA_SUCCESS;
}

static bool push_fits(const struct push *job, const struct args_push_block *args)
{
    return args->size <= job->size - job->received && args->offset <= job->size &&
           args->size <= job->size - args->offset;
}

void push_take_block(struct serve *serve, struct block *block, const struct args_push_block *args)
{
    SCOPED_LOCK(&jobs_lock);
    struct push *job = find_job(args->job);

    if (!job || !push_fits(job, args)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        drop_block(block);
        return;
    }
    job->received += args->size;
    CUresult result = job->own ? fly(serve, job, block, args->offset, args->size)
                               : CUDA_ERROR_NOT_READY;
    if (result != CUDA_SUCCESS) {
        // The first failure of this push has been reported; the rest of its data is only discarded.
        // Data for a context that the client has destroyed are no failure.
        if (job->own && result != CUDA_ERROR_CONTEXT_IS_DESTROYED)
            serve_fail(serve, result);
        push_give_up(job);
        drop_block(block);
    }
    if (job->received == job->size) {
        job->used = false;
        copied_range_over(&job->copied);
        expected_came();
    }
}
