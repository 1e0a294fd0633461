// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_jobs.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/events.h"
#include "daemon/worker/core/expected.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/copy/parts/semaphores.h"
#include "daemon/worker/peer/far_puts.h"
#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/peer/peer_data.h"

enum { SETTLE_MS = 50 };

static unsigned begun; // copies of all links
static uint64_t ended; // so many so far

// ---- blocks that have been written ----

// Drops the writes of a link that is down and writes no more.
static bool drop_writes(struct peer_link *link)
{
    bool any = link->puts_writing.first;

    while (link->puts_writing.first)
        far_puts_written(link, peer_queue_pop(&link->puts_writing));

    for (struct peer_job *job = link->jobs; job; job = job->next)
        while (job->writing.first) {
            peer_data_written(job->writing.first);
            any = true;
        }
    return any;
}

static bool end_writes(struct peer_link *link)
{
    void *blocks[PEER_OUT_BLOCKS];

    if (link->carriage != PEER_WRITTEN)
        return false;
    if (link->lost != CUDA_SUCCESS)
        return drop_writes(link);
    int count = link_transfer_poll(link->direct, blocks, PEER_OUT_BLOCKS);
    for (int i = 0; i < count; i++)
        if (((struct peer_block *)blocks[i])->job)
            peer_data_written(blocks[i]);
        else
            far_puts_written(link, peer_queue_pop(&link->puts_writing));
    if (count < 0)
        peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
    return count != 0;
}

// ---- the end of a copy ----

static bool peer_jobs_is_over(const struct peer_job *job)
{
    if (job->flying.first || job->writing.first)
        return false;
    if (job->result != CUDA_SUCCESS)
        return true;
    return job->over == job->total && (!job->sends || !job->owns || job->there == THERE_DONE);
}

// A failure is reported to the client before the stream goes on, and so before any thread that
// waits for the stream. If the frames go through the client, it also needs the end of the copy.
static void peer_jobs_report(const struct peer_job *job)
{
    if (job->link->direct && job->result == CUDA_SUCCESS)
        return;
    const struct wire_peer_over over = {.peer = job->link->number,
                                        .result = (int32_t)job->result,
                                        .job = job->id,
                                        .waiting = job->waiting};

    event_send(EVENT_PEER_OVER, &over, sizeof(over), 0);
}

static void peer_jobs_end_job(struct peer_job *job)
{
    if (job->behind)
        job->behind->ahead = NULL;
    if (job->result != CUDA_SUCCESS && job->there != THERE_FAILED)
        peer_job_say(job, PEER_FAILED);
    else if (job->result == CUDA_SUCCESS && !job->sends && !job->owns)
        peer_job_say(job, PEER_DONE);
    if (job->owns)
        peer_jobs_report(job);
    if (job->start_context && mover_enter(&peer_mover, job->start_context) == CUDA_SUCCESS)
        driver.cuEventDestroy_v2(job->start);
    peer_route_end(&job->route);
    if (job->semaphore >= 0) {
        semaphore_signal(job->semaphore, job->value);
        semaphore_release(job->semaphore);
    }
    copied_range_over(&job->copied);
    expected_came();
    begun--;
    ended++;
    pthread_cond_broadcast(&peer_mover.ended);
    free(job);
}

// Others append to the list while end_job speaks.
static bool peer_jobs_end(struct peer_link *link)
{
    bool any = false;

    for (struct peer_job **at = &link->jobs; *at;) {
        struct peer_job *job = *at;
        if (job->here == HERE_ANNOUNCED || !peer_jobs_is_over(job)) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        link->job_count--;
        peer_jobs_end_job(job);
        any = true;
    }
    return any;
}

// ---- the end of a link ----

static void end_context(struct peer_link *link, CUcontext context)
{
    if (context && driver.cuCtxSetCurrent(context) == CUDA_SUCCESS)
        peer_blocks_forget(&link->blocks, context);
}

static void end_contexts(struct peer_link *link)
{
    for (unsigned i = 0; i < PEER_IN_BLOCKS; i++) {
        end_context(link, link->blocks.in[i].completion.context);
        end_context(link, link->blocks.out[i].completion.context);
    }
    end_context(link, link->blocks.registered);
}

// The driver's registrations of the link are given up while no stream is held, since the driver may
// wait for all work.
static void *end_link(void *argument)
{
    struct peer_link *link = argument;
    struct semaphore_sync sync;

    if (!semaphores_ask_sync(&sync))
        semaphores_await_sync(&sync);
    {
        SCOPED_LOCK(&peer_mover.lock);
        end_contexts(link);
        peer_link_take_off(link);
    }
    semaphores_sync_ended();
    while (link->jobs) {
        struct peer_job *job = link->jobs;
        link->jobs = job->next;
        free(job);
    }
    if (link->outgoing)
        link_unregister(link->direct, link->outgoing);
    peer_blocks_free(&link->blocks);
    if (link->direct) {
        direct_forget_link(link->direct);
        link_free(&link->direct);
    }
    tls_discard(&link->base.tls);
    if (link->base.fd >= 0)
        close(link->base.fd);
    free(link);
    return NULL;
}

static void reap_links(void)
{
    for (struct peer_link *link = peer_links; link; link = link->next) {
        pthread_t thread;
        if (!peer_link_is_over(link))
            continue;
        link->ending = true;
        if (pthread_create(&thread, NULL, end_link, link))
            log_warn("what a link that is down has of memory stays with=\"%s\"", link->name);
        else
            pthread_detach(thread);
    }
}

// ---- what the thread does ----

static bool tell_credit(struct peer_link *link)
{
    const struct wire_peer_frame frame = {.kind = PEER_CREDIT,
                                          .offset = link->uncredited,
                                          .job = link->freed};

    if (!link->uncredited)
        return false;
    link->uncredited = link->freed = 0;
    peer_send_frame(link, frame, NULL);
    return true;
}

static bool has_blocks_to_tell(const struct peer_link *link)
{
    return link->carriage == PEER_WRITTEN && !link->reported && link->lost == CUDA_SUCCESS &&
           link->state == PEER_DIRECT;
}

// Sends the other end the blocks into which it may write.
static bool tell_blocks(struct peer_link *link)
{
    const struct wire_peer_frame frame = {.kind = PEER_BLOCKS,
                                          .offset = (uintptr_t)link->blocks.in[0].data,
                                          .job = link->key};

    if (!has_blocks_to_tell(link))
        return false;
    link->reported = true;
    peer_send_frame(link, frame, NULL);
    return true;
}

static bool peer_jobs_advance(void)
{
    bool any = far_puts_take_put_requests();

    for (struct peer_link *link = peer_links; link; link = link->next) {
        if (link->state == PEER_RENDEZVOUS)
            continue;
        any |= tell_blocks(link);
        any |= far_puts_advance(link);
        for (struct peer_job *job = link->jobs; job; job = job->next)
            if (job->here != HERE_ANNOUNCED)
                any |= peer_data_advance(job);
        any |= end_writes(link);
        any |= peer_jobs_end(link);
        any |= tell_credit(link);
    }
    reap_links();
    return any;
}

static bool any_begun(void)
{
    if (begun || far_puts_any())
        return true;
    for (const struct peer_link *link = peer_links; link; link = link->next)
        if (link->uncredited || has_blocks_to_tell(link) || peer_link_is_over(link))
            return true;
    return false;
}

// ---- the beginning of a copy ----

// If the device of the link accesses GPU memory by itself, the copy needs no blocks.
static void begin_route(struct peer_job *job)
{
    bool moved = job->link->carriage == PEER_WRITTEN && peer_shape_is_packed(&job->shape);
    const struct direct_move move = {.link = moved ? job->link->direct : NULL,
                                     .address = job->shape.address,
                                     .size = job->total,
                                     .context = job->context,
                                     .exposed = !job->sends};

    peer_route_begin(&job->route, &move, job->sends, !job->owns);
}

// Many copies of one stream may wait.
static void queue_in_stream(struct peer_job *job)
{
    for (struct peer_job *other = job->link->jobs; other != job; other = other->next)
        if (other->here != HERE_ANNOUNCED && other->owns && other->stream == job->stream &&
            other->start_context == job->start_context)
            job->ahead = other;
    if (job->ahead)
        job->ahead->behind = job;
}

void peer_job_begin(struct peer_job *job)
{
    if (job->owns && job->start_context)
        queue_in_stream(job);
    peer_job_rise(job, job->owns && job->start_context ? HERE_REQUESTED : HERE_DUE);
    job->link->newest = job->id;
    job->link->half_known--;
    if (job->link->lost != CUDA_SUCCESS)
        peer_job_fail(job, job->link->lost);
    else
        begin_route(job);
    uint64_t total, extent;
    if (peer_shape_measure(&job->shape, &total, &extent))
        copied_range_begin(&job->copied, job->shape.address, extent);
    begun++;
    expected_add();
    pthread_cond_signal(&peer_mover.added);
}

static bool has_own_until(const struct peer_link *link, uint64_t id)
{
    for (const struct peer_job *job = link->jobs; job; job = job->next)
        if (job->here != HERE_ANNOUNCED && job->owns && job->id <= id)
            return true;
    return false;
}

// Delays a caller that is ahead of the copies, but only while copies end: the next copies may wait
// for its further requests.
void peer_jobs_settle(uint32_t number, uint64_t id)
{
    SCOPED_LOCK(&peer_mover.lock);
    const struct peer_link *link = peer_link_find(number);
    uint64_t before = ended, until = clock_ns() + SETTLE_MS * UINT64_C(1000000);
    while (link && has_own_until(link, id) && clock_ns() < until) {
        clock_wait_until(&peer_mover.ended, &peer_mover.lock, until);
        if (ended != before)
            until = clock_ns() + SETTLE_MS * UINT64_C(1000000);
        before = ended;
        link = peer_link_find(number);
    }
}

// ---- the beginning, and contexts that go ----

static void peer_jobs_forget_context(CUcontext context)
{
    SCOPED_LOCK(&peer_mover.lock);
    for (struct peer_link *link = peer_links; link; link = link->next) {
        for (struct peer_job *job = link->jobs; job; job = job->next) {
            if (job->start_context == context) {
                driver.cuEventDestroy_v2(job->start);
                job->start_context = NULL;
                if (job->here < HERE_DUE)
                    peer_job_fail(job, CUDA_ERROR_CONTEXT_IS_DESTROYED);
            }
            if (job->here != HERE_ANNOUNCED && job->context == context) {
                job->context = NULL;
                peer_job_fail(job, CUDA_ERROR_CONTEXT_IS_DESTROYED);
            }
        }
        peer_blocks_forget(&link->blocks, context);
    }
    mover_forget_context(&peer_mover, context);
}

void peer_jobs_prepare(void)
{
    peer_mover.has_work = any_begun;
    peer_mover.advance = peer_jobs_advance;
    context_watch(peer_jobs_forget_context);
}
