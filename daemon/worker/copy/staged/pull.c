// SPDX-License-Identifier: BSD-3-Clause
// The stream of a pull waits on a semaphore. A thread copies the data block by block into staging
// blocks and sends them; the GPU signals the semaphore after the last copy. No report of the
// stream's progress is sent before the data.
#include "daemon/worker/copy/staged/pull.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/activity/activity.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/copy/staged/small_pull.h"
#include "daemon/worker/copy/parts/staging.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

struct pull {
    uint32_t id;
    uint64_t number; // pull_number()
    CUdeviceptr src;
    uint64_t size;
    uint64_t issued; // bytes whose copies have been queued
    uint64_t sent;
    CUcontext context;
    CUevent start; // recorded where the client's stream was
    bool ready;    // the GPU has passed it
    int semaphore;
    uint32_t value;
    CUresult result;
    unsigned flying; // blocks with a copy under way
    uint32_t call;   // of the program that it is of, where work is noted
    struct copied_range copied;
    struct pull *next;
};

enum { BLOCKS_COPIED = 4 }; // blocks that are left for copies while others leave

struct pull_inflight {
    struct pull *job;
    struct block *block;
    uint64_t offset;
    uint32_t size;
};

static bool any_job(void);
static bool pull_make_progress(void);
static struct mover mover =
    MOVER(.name = "rgpu-pull", .has_work = any_job, .advance = pull_make_progress);
static struct pull *jobs; // under the mover's lock, oldest first; only it takes them out
static _Atomic unsigned job_count;
static struct pull_inflight inflight_blocks[STAGING_BLOCKS_MAX]; // the mover's: a ring
static unsigned inflight_head, inflight_count;
// The blocks that were sent last: a ring. Parts of them may still be read, and what the client has
// not acknowledged would have to be copied before other data come into the block, so that they are
// given back late.
static struct {
    struct block *block;
    struct link_ahead ahead;
} leaving[STAGING_BLOCKS_MAX];
static unsigned leaving_head, leaving_count;

// ---- the mover ----

static CUresult pull_issue_one(struct pull *job, CUstream stream, struct block *block)
{
    uint64_t left = job->size - job->issued;
    uint32_t block_size = staging_block_size(STAGING_PULL);
    uint32_t size = left < block_size ? (uint32_t)left : block_size;
    activity_enter(job->call);
    CUresult result =
        driver.cuMemcpyDtoHAsync_v2(block->data, job->src + job->issued, size, stream);
    activity_leave();

    if (result == CUDA_SUCCESS)
        result = staging_record(block, job->context, stream);
    // The semaphore is signalled after the completion, so that a thread that finds it open finds
    // the block complete as well.
    if (result == CUDA_SUCCESS && size == left)
        result = semaphore_signal_from(stream, job->semaphore, job->value);
    if (result != CUDA_SUCCESS)
        return result;
    inflight_blocks[(inflight_head + inflight_count++) % STAGING_BLOCKS_MAX] =
        (struct pull_inflight){.job = job, .block = block, .offset = job->issued, .size = size};
    job->issued += size;
    job->flying++;
    if (job->issued == job->size)
        copied_range_over(&job->copied);
    return CUDA_SUCCESS;
}

static void pull_fail(struct pull *job, CUresult result)
{
    job->result = result;
    copied_range_over(&job->copied);
    semaphore_signal(job->semaphore, job->value); // nothing is to wait for data that will not come
}

// Queues as many copies as there are blocks; under lock.
static bool pull_issue(struct pull *job)
{
    CUresult result = job->result == CUDA_SUCCESS ? mover_enter(&mover, job->context) : job->result;
    CUstream stream = NULL;
    struct block *block;
    bool any = false;

    if (job->result != CUDA_SUCCESS || job->issued == job->size)
        return false;
    if (result == CUDA_SUCCESS && !job->ready) {
        result = driver.cuEventQuery(job->start);
        if (result == CUDA_ERROR_NOT_READY)
            return false;
        job->ready = result == CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS)
        result = mover_stream(&mover, job->context, 0, &stream);
    while (result == CUDA_SUCCESS && job->issued < job->size &&
           (block = staging_take(STAGING_PULL, false))) {
        result = pull_issue_one(job, stream, block);
        if (result != CUDA_SUCCESS)
            staging_give(block);
        any = true;
    }
    if (result != CUDA_SUCCESS)
        pull_fail(job, result);
    return any || result != CUDA_SUCCESS;
}

static void pull_send_block(const struct pull_inflight *inflight, struct link_ahead *ahead)
{
    struct {
        struct wire_event event;
        struct wire_data data;
    } record = {
        .event = {.size = sizeof(record), .kind = EVENT_DATA},
        .data = {.job = inflight->job->id, .size = inflight->size, .offset = inflight->offset},
    };

    small_pull_deliver_before(inflight->job->number);
    // A link that is down is the reading thread's matter.
    if (link_send_bulk_ahead(session.link, &record, sizeof(record), inflight->block->data,
                             inflight->size, ahead))
        log_debug("data of pull=%u was not sent", inflight->job->id);
}

static unsigned leaving_most(void)
{
    unsigned blocks = staging_blocks(STAGING_PULL);

    return blocks > BLOCKS_COPIED ? blocks - BLOCKS_COPIED : 0;
}

// Gives the oldest block back; the lock is given up meanwhile.
static void pull_see_off(void)
{
    struct block *block = leaving[leaving_head].block;

    pthread_mutex_unlock(&mover.lock);
    link_settle(session.link, &leaving[leaving_head].ahead);
    staging_give(block);
    pthread_mutex_lock(&mover.lock);
    leaving_head = (leaving_head + 1) % STAGING_BLOCKS_MAX;
    leaving_count--;
}

// Sends the block; the lock is given up meanwhile.
static void pull_send(const struct pull_inflight *inflight)
{
    struct link_ahead ahead = {0};

    pthread_mutex_unlock(&mover.lock);
    if (inflight->job->result == CUDA_SUCCESS)
        pull_send_block(inflight, &ahead);
    pthread_mutex_lock(&mover.lock);
    unsigned last = (leaving_head + leaving_count++) % STAGING_BLOCKS_MAX;
    leaving[last].block = inflight->block;
    leaving[last].ahead = ahead;
    inflight->job->flying--;
    inflight->job->sent += inflight->size;
}

// The oldest block, when its copy is over.
static bool take_copied(struct pull_inflight *out)
{
    CUresult result;

    if (!inflight_count)
        return false;
    struct pull_inflight inflight = inflight_blocks[inflight_head];
    if (mover_enter(&mover, inflight.job->context) == CUDA_SUCCESS &&
        !staging_done(inflight.block, &result))
        return false;
    if (mover.current != inflight.job->context)
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    inflight_head = (inflight_head + 1) % STAGING_BLOCKS_MAX;
    inflight_count--;
    if (result != CUDA_SUCCESS && inflight.job->result == CUDA_SUCCESS)
        pull_fail(inflight.job, result);
    *out = inflight;
    return true;
}

static bool pull_send_next(void)
{
    struct pull_inflight inflight;

    if (!take_copied(&inflight))
        return false;
    pull_send(&inflight);
    if (leaving_count > leaving_most())
        pull_see_off();
    return true;
}

static bool pull_is_over(const struct pull *job)
{
    return !job->flying && (job->result != CUDA_SUCCESS || job->sent == job->size);
}

static void pull_end_job(struct pull *job)
{
    struct wire_job_end end = {.job = job->id, .result = (int32_t)job->result};

    event_send(EVENT_PULLED, &end, sizeof(end), 0);
    if (job->context && mover_enter(&mover, job->context) == CUDA_SUCCESS)
        driver.cuEventDestroy_v2(job->start);
    semaphore_release(job->semaphore);
    free(job);
}

static bool pull_end_jobs(void)
{
    bool any = false;

    for (struct pull **at = &jobs; *at;) {
        struct pull *job = *at;
        if (!pull_is_over(job)) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        pull_end_job(job);
        atomic_fetch_sub(&job_count, 1);
        pthread_cond_broadcast(&mover.ended);
        any = true;
    }
    return any;
}

static bool pull_make_progress(void)
{
    bool any = false;

    for (struct pull *job = jobs; job; job = job->next)
        any |= pull_issue(job);
    any |= pull_send_next();
    any |= pull_end_jobs();
    return any;
}

static bool any_job(void)
{
    return jobs;
}

static void pull_forget_context(CUcontext context)
{
    SCOPED_LOCK(&mover.lock);
    for (struct pull *job = jobs; job; job = job->next)
        if (job->context == context) {
            job->context = NULL;
            if (job->result == CUDA_SUCCESS)
                pull_fail(job, CUDA_ERROR_CONTEXT_IS_DESTROYED);
        }
    mover_forget_context(&mover, context);
}

static bool started; // before the first request

int pull_start(void)
{
    context_watch(pull_forget_context);
    int err = mover_start(&mover);
    started = !err;
    return err;
}

// ---- requests ----

static CUresult pull_place(const struct semaphore_pass *pass, struct pull *job, CUstream stream)
{
    CUresult result = driver.cuEventCreate(&job->start, CU_EVENT_DISABLE_TIMING);

    if (result != CUDA_SUCCESS)
        return result;
    result = driver.cuEventRecord(job->start, stream);
    if (result == CUDA_SUCCESS)
        result = semaphore_hold_stream(pass, stream, &job->semaphore, &job->value);
    if (result != CUDA_SUCCESS)
        driver.cuEventDestroy_v2(job->start);
    return result;
}

static void pull_append(struct pull *job)
{
    SCOPED_LOCK(&mover.lock);
    struct pull **at = &jobs;
    while (*at)
        at = &(*at)->next;
    *at = job;
    atomic_fetch_add(&job_count, 1);
    pthread_cond_signal(&mover.added);
}

// The client waits for the end of a pull, so one that cannot start is ended with its error.
static void pull_refuse(uint32_t id, CUresult result)
{
    struct wire_job_end end = {.job = id, .result = (int32_t)result};

    event_send(EVENT_PULLED, &end, sizeof(end), 0);
}

void serve_pull(struct serve *serve, const struct args_pull *args)
{
    CUstream stream = serve_handle(serve, HANDLE_STREAM, args->stream);
    SEMAPHORE_PASS(pass);

    if (!started || !args->size)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    struct pull *job = calloc(1, sizeof(*job));
    if (!job)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (!serve_failed(serve) && serve_device_range(serve, args->src, args->size)) {
        *job = (struct pull){.id = args->job,
                             .number = pull_number(),
                             .src = args->src,
                             .size = args->size,
                             .context = serve->current,
                             .semaphore = -1,
                             .call = activity_in_pieces(stream)};
        serve_fail(serve, pull_place(&pass, job, stream));
    }
    if (serve_failed(serve)) {
        free(job);
        pull_refuse(args->job, serve->result);
        serve->result = CUDA_SUCCESS; // reported already
        return;
    }
    copied_range_begin(&job->copied, args->src, args->size);
    pull_append(job);
}

uint64_t pull_number(void)
{
    static _Atomic uint64_t last;

    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

bool pull_unsent_before(uint64_t number)
{
    if (!atomic_load_explicit(&job_count, memory_order_acquire))
        return false;
    SCOPED_LOCK(&mover.lock);
    for (const struct pull *job = jobs; job; job = job->next)
        if (job->number < number && job->sent < job->size &&
            semaphore_is_signalled(job->semaphore, job->value))
            return true;
    return false;
}

bool pull_any_in(CUcontext context)
{
    if (!atomic_load_explicit(&job_count, memory_order_acquire))
        return false;
    SCOPED_LOCK(&mover.lock);
    for (const struct pull *job = jobs; job; job = job->next)
        if (job->context == context)
            return true;
    return false;
}

static bool copied_but_not_sent(void)
{
    for (const struct pull *job = jobs; job; job = job->next)
        if (semaphore_is_signalled(job->semaphore, job->value))
            return true;
    return false;
}

void pull_deliver(void)
{
    if (!atomic_load_explicit(&job_count, memory_order_acquire))
        return;
    SCOPED_LOCK(&mover.lock);
    while (copied_but_not_sent()) {
        pthread_cond_signal(&mover.added);
        pthread_cond_wait(&mover.ended, &mover.lock);
    }
}
