// SPDX-License-Identifier: BSD-3-Clause
// Copies to the GPU over a byte stream. The stream that a push belongs to is held at a gate; the
// data comes block by block and is copied on a stream of our own, whose last step opens the gate.
#include "daemon/worker/copy/staged/push.h"

#include <errno.h>
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
#include "daemon/worker/copy/parts/gates.h"
#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/copy/parts/staging.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

enum { JOBS_MAX = 256, LANES_MAX = 64 };

// A stream of ours that one push uses at a time: a push that waits for its place in the client's
// stream holds up no other.
struct lane {
    CUcontext context; // NULL: the lane does not exist
    CUstream stream;
    CUevent start;
    bool busy;
};

struct push {
    bool used;
    uint32_t id;
    CUdeviceptr dst;
    uint64_t size, received;
    struct lane *lane; // NULL: the data goes nowhere, as the push has failed
    int gate;          // -1: none is held
    uint32_t ticket;
    uint32_t call; // of the program that it is of, where work is noted
    struct copied_range copied;
};

// A block on its way to the GPU, and what ends with it.
struct push_flight {
    struct block *block;
    struct lane *lane; // not NULL with the last block: free from then on
    int gate;          // likewise, -1: none
    bool credit;       // the client may send another one for it
};

static struct push jobs[JOBS_MAX];   // under jobs_lock
static struct lane lanes[LANES_MAX]; // under the mover's lock
static struct push_flight
    flights[STAGING_BLOCKS_MAX]; // under the mover's lock; a block is in at most one
static unsigned flight_count;
static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER; // before the mover's

static bool any_flight(void);
static bool see_off(void);
static struct mover mover = MOVER(.name = "rgpu-push", .has_work = any_flight, .advance = see_off);

// ---- lanes ----

static CUresult make_lane(struct lane *lane, CUcontext context)
{
    CUresult result = own_stream_create(&lane->stream);

    if (result != CUDA_SUCCESS)
        return result;
    result = driver.cuEventCreate(&lane->start, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) {
        driver.cuStreamDestroy_v2(lane->stream);
        return result;
    }
    lane->context = context;
    return CUDA_SUCCESS;
}

static CUresult take_lane(CUcontext context, struct lane **out)
{
    struct lane *found = NULL, *unmade = NULL;
    CUresult result = CUDA_SUCCESS;

    SCOPED_LOCK(&mover.lock);
    for (unsigned i = 0; i < LANES_MAX && !found; i++) {
        if (lanes[i].context == context && !lanes[i].busy)
            found = &lanes[i];
        else if (!lanes[i].context && !lanes[i].busy && !unmade)
            unmade = &lanes[i];
    }
    if (!found && unmade && (result = make_lane(unmade, context)) == CUDA_SUCCESS)
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
    for (unsigned i = 0; i < LANES_MAX; i++) {
        if (lanes[i].context != context)
            continue;
        driver.cuStreamDestroy_v2(lanes[i].stream);
        driver.cuEventDestroy_v2(lanes[i].start);
        lanes[i].context = NULL;
    }
}

// ---- the thread that sees blocks off ----

static void push_finish(const struct push_flight *flight)
{
    struct wire_credit credit = {.blocks = 1};

    staging_give(flight->block);
    if (flight->gate >= 0)
        gate_release(flight->gate);
    if (flight->credit)
        event_send(EVENT_CREDIT, &credit, sizeof(credit), 0);
}

static bool any_flight(void)
{
    return flight_count > 0;
}

// Takes every flight that is over out of the list. The lock is given up while one of them is
// finished, which may wait for the link.
static bool see_off(void)
{
    bool any = false;

    for (unsigned i = 0; i < flight_count;) {
        CUresult result;
        if (!staging_done(flights[i].block, &result)) {
            i++;
            continue;
        }
        struct push_flight over = flights[i];
        memmove(&flights[i], &flights[i + 1], (--flight_count - i) * sizeof(flights[0]));
        if (over.lane)
            over.lane->busy = false;
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
    struct wire_credit credit;

    staging_prepare_streamed();
    context_watch(push_forget_context);
    credit = (struct wire_credit){.blocks = staging_blocks(STAGING_PUSH)};
    int err = mover_start(&mover);
    started = !err;
    if (started)
        event_send(EVENT_CREDIT, &credit, sizeof(credit), 0);
    return err;
}

static void add_flight(struct push_flight flight)
{
    SCOPED_LOCK(&mover.lock);
    flights[flight_count++] = flight;
    pthread_cond_signal(&mover.added);
}

void push_see_off(struct serve *serve, struct block *block, CUstream stream)
{
    if (!serve_failed(serve))
        serve_fail(serve, staging_mark(block, serve->current, stream));
    if (serve_failed(serve))
        staging_give(block);
    else
        add_flight((struct push_flight){.block = block, .gate = -1});
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
            if (job->lane)
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

// Does nothing where the push has no lane.
static void leave_lane(struct push *job)
{
    SCOPED_LOCK(&mover.lock);
    if (job->lane)
        job->lane->busy = false;
    job->lane = NULL;
}

// The lane starts at the present point of the client's stream, and the client's stream stops after
// that.
static CUresult push_place(const struct gate_pass *pass, struct push *job, CUcontext context,
                           CUstream stream)
{
    CUresult result = take_lane(context, &job->lane);

    if (result == CUDA_SUCCESS)
        result = driver.cuEventRecord(job->lane->start, stream);
    if (result == CUDA_SUCCESS)
        result = driver.cuStreamWaitEvent(job->lane->stream, job->lane->start, 0);
    if (result == CUDA_SUCCESS)
        result = gate_stop(pass, stream, &job->gate, &job->ticket);
    if (result != CUDA_SUCCESS)
        leave_lane(job);
    return result;
}

// Abandons a push whose data will not come: opens its gate and leaves its lane.
static void push_give_up(struct push *job)
{
    if (job->gate >= 0) {
        gate_open(job->gate, job->ticket);
        gate_release(job->gate);
        job->gate = -1;
    }
    leave_lane(job);
    copied_range_over(&job->copied);
}

static void ask_for_data(uint32_t job)
{
    struct wire_wanted wanted = {.job = job};

    deliver_all();
    event_send(EVENT_WANTED, &wanted, sizeof(wanted), 0);
}

// The driver calls this when the lane has reached its start: earlier writes to the client's memory
// are done, and the data may be read from there. It also calls it if the context has failed, when a
// host function would not run: the data are then discarded.
static void CUDA_CB want_data(CUstream stream, CUresult status, void *job)
{
    ask_for_data((uint32_t)(uintptr_t)job);
}

static CUresult ask_when_due(const struct push *job)
{
    return driver.cuStreamAddCallback ? driver.cuStreamAddCallback(job->lane->stream, want_data,
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
    GATE_PASS(pass);
    struct push job = {
        .used = true, .id = args->job, .dst = args->dst, .size = args->size, .gate = -1};

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
        if (job.lane)
            serve_fail(serve, ask_when_due(&job));
        if (serve_failed(serve)) // its data is asked for all the same, to be swallowed
            ask_for_data(job.id);
    }
}

static void drop_block(struct block *block)
{
    const struct push_flight nothing_else = {.block = block, .gate = -1, .credit = true};

    push_finish(&nothing_else);
}

static CUresult fly(struct serve *serve, struct push *job, struct block *block, uint64_t offset,
                    uint32_t size)
{
    bool last = job->received == job->size;
    CUcontext context = job->lane->context;

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
            driver.cuMemcpyHtoDAsync_v2(job->dst + offset, block->data, size, job->lane->stream);
    activity_leave();
    if (result == CUDA_SUCCESS && last)
        result = gate_open_from(job->lane->stream, job->gate, job->ticket);
    if (result == CUDA_SUCCESS)
        result = staging_mark(block, context, job->lane->stream);
    if (result != CUDA_SUCCESS)
        return result;
    add_flight((struct push_flight){.block = block,
                                    .lane = last ? job->lane : NULL,
                                    .gate = last ? job->gate : -1,
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
    CUresult result = job->lane ? fly(serve, job, block, args->offset, args->size)
                                : CUDA_ERROR_NOT_READY;
    if (result != CUDA_SUCCESS) {
        // The first failure of this push has been reported; the rest of its data is only discarded.
        // Data for a context that the client has destroyed are no failure.
        if (job->lane && result != CUDA_ERROR_CONTEXT_IS_DESTROYED)
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
