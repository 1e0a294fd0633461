// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_jobs.h"

#include <stdlib.h>

#include "common/base/assert.h"
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
#include "daemon/worker/peer/peer_windows.h"

enum {
    HALF_KNOWN_MAX = 4096,
    ALL_SLOTS = (1 << PEER_IN_BLOCKS) - 1,
    SETTLE_MS = 50,
};

static unsigned begun; // copies of all links
static uint64_t ended; // so many so far

static bool any_begun(void);
static bool peer_jobs_advance(void);
struct mover peer_mover = MOVER(.has_work = any_begun, .advance = peer_jobs_advance);

// ---- queues ----

void peer_queue_push(struct peer_queue *queue, struct peer_block *block)
{
    block->next = NULL;
    if (queue->last)
        queue->last->next = block;
    else
        queue->first = block;
    queue->last = block;
}

struct peer_block *peer_queue_pop(struct peer_queue *queue)
{
    struct peer_block *block = queue->first;

    queue->first = block->next;
    if (!queue->first)
        queue->last = NULL;
    return block;
}

uint32_t peer_block_bit(const struct peer_block *block)
{
    return UINT32_C(1) << block->slot;
}

void peer_block_return(struct peer_link *link, struct peer_block *block)
{
    peer_block_give(&link->blocks, block);
    link->uncredited++;
    link->freed |= peer_block_bit(block);
}

// ---- states ----

static void peer_job_rise(struct peer_job *job, enum peer_here to)
{
    static const uint8_t may[] = {
        [HERE_ANNOUNCED] = 1 << HERE_REQUESTED | 1 << HERE_DUE,
        [HERE_REQUESTED] = 1 << HERE_DUE,
        [HERE_DUE] = 1 << HERE_REPORTED,
        [HERE_REPORTED] = 0,
    };

    RGPU_ASSERT(may[job->here] >> to & 1);
    job->here = to;
}

void peer_job_note(struct peer_job *job, enum peer_there there)
{
    static const uint8_t may[] = {
        // A source with the stream reports nothing before its data.
        [THERE_SILENT] = 1 << THERE_READY | 1 << THERE_DONE | 1 << THERE_FAILED,
        [THERE_READY] = 1 << THERE_DONE | 1 << THERE_FAILED,
        [THERE_DONE] = 1 << THERE_FAILED,
        [THERE_FAILED] = 0,
    };

    if (may[job->there] >> there & 1)
        job->there = there;
}

// ---- what the thread does; the lock is given up while it sends ----

void peer_send_frame(struct peer_link *link, struct wire_peer_frame frame, const void *payload)
{
    if (link->lost != CUDA_SUCCESS)
        return;
    pthread_mutex_unlock(&peer_mover.lock);
    bool sent = peer_link_send(link, frame, payload);
    pthread_mutex_lock(&peer_mover.lock);
    if (!sent)
        peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
}

static void peer_jobs_say(struct peer_job *job, enum wire_peer_kind kind)
{
    struct wire_peer_frame frame = {.kind = kind, .job = job->id, .result = (int32_t)job->result};

    if (kind == PEER_READY)
        frame.result = job->route.may;
    else if (kind == PEER_GO)
        frame.result = peer_route_reads_source(&job->route);
    if (job->route.direct && !job->sends && (kind == PEER_READY || kind == PEER_GO)) {
        frame.offset = job->shape.address;
        frame.slot = direct_key(job->route.direct);
    }
    peer_send_frame(job->link, frame, NULL);
}

// The context of the memory, and a stream there for one direction.
static CUresult peer_jobs_enter(struct peer_job *job, CUstream *stream)
{
    CUresult result = mover_stream(&peer_mover, job->context, job->sends, stream);

    if (result == CUDA_SUCCESS)
        peer_blocks_register(&job->link->blocks, job->context);
    return result;
}

static CUresult queue_copy(struct peer_job *job, struct peer_block *block, CUstream stream)
{
    CUresult result =
        peer_shape_copy(&job->shape, block->offset, block->size, block->data, !job->sends, stream);

    return result == CUDA_SUCCESS ? peer_block_record(block, job->context, stream) : result;
}

// Returns true if our stream has reached the copy, or need not reach it.
static bool peer_jobs_is_due(struct peer_job *job)
{
    if (job->here >= HERE_DUE)
        return true;
    if (job->ahead)
        return false;
    CUresult result = mover_enter(&peer_mover, job->start_context);
    if (result == CUDA_SUCCESS)
        result = driver.cuEventQuery(job->start);
    if (result == CUDA_ERROR_NOT_READY)
        return false;
    if (result != CUDA_SUCCESS)
        peer_job_fail(job, result);
    else
        peer_job_rise(job, HERE_DUE);
    return result == CUDA_SUCCESS;
}

// ---- between which memory the bytes go ----

static bool peer_jobs_enter_memory(struct peer_job *job)
{
    CUresult result = mover_enter(&peer_mover, job->context);

    if (result != CUDA_SUCCESS)
        peer_job_fail(job, result);
    return result == CUDA_SUCCESS;
}

static void tell_means(const struct peer_job *job)
{
    if (job->link->carriage == PEER_WRITTEN)
        peer_link_tell_means(job->link);
}

// The stream is ours, and is there.
static void choose_route(struct peer_job *job)
{
    if (!peer_jobs_enter_memory(job))
        return;
    peer_route_choose(&job->route);
    tell_means(job);
    if (job->route.asked)
        peer_jobs_say(job, PEER_REGISTER);
}

// As the other end has chosen.
static bool register_wanted(struct peer_job *job)
{
    if (!job->route.wanted || job->route.reported || job->result != CUDA_SUCCESS ||
        !peer_jobs_enter_memory(job))
        return false;
    peer_route_register(&job->route);
    tell_means(job);
    if (!job->sends)
        peer_jobs_say(job, PEER_READY);
    return true;
}

// For the source's end: returns true if the memory at both ends of the copy is known.
static bool has_route(struct peer_job *job)
{
    if (job->owns && !job->route.chosen)
        choose_route(job);
    else if (!job->owns)
        register_wanted(job);
    return job->result == CUDA_SUCCESS && !job->route.asked;
}

static bool peer_jobs_has_room(const struct peer_job *job);
static void begin_write(struct peer_job *job, struct peer_block *block);

// From where it is, without a copy before.
static bool peer_jobs_write_out(struct peer_job *job)
{
    struct peer_block *block;
    bool any = false;

    while (job->result == CUDA_SUCCESS && job->queued < job->total && peer_jobs_has_room(job) &&
           (block = peer_block_take(&job->link->blocks))) {
        block->offset = job->queued;
        block->size = peer_shape_piece(&job->shape, job->queued);
        block->source = (void *)(uintptr_t)(job->shape.address + job->queued);
        job->queued += block->size;
        begin_write(job, block);
        any = true;
    }
    return any;
}

static bool copy_out(struct peer_job *job)
{
    struct peer_block *block;
    CUstream stream;
    bool any = false;

    if (job->there < THERE_READY || job->queued == job->total || !peer_jobs_is_due(job) ||
        !has_route(job))
        return false;
    if (job->route.direct)
        return peer_jobs_write_out(job);
    while (job->result == CUDA_SUCCESS && job->queued < job->total &&
           (block = peer_block_take(&job->link->blocks))) {
        block->offset = job->queued;
        block->size = peer_shape_piece(&job->shape, job->queued);
        CUresult result = peer_jobs_enter(job, &stream);
        if (result == CUDA_SUCCESS)
            result = queue_copy(job, block, stream);
        if (result == CUDA_SUCCESS) {
            peer_queue_push(&job->flying, block);
            job->queued += block->size;
        } else {
            peer_block_give(&job->link->blocks, block);
            peer_job_fail(job, result);
        }
        any = true;
    }
    return any;
}

// The oldest block whose copy is over; NULL: there is none.
static struct peer_block *take_landed(struct peer_job *job)
{
    CUresult result = CUDA_ERROR_CONTEXT_IS_DESTROYED;

    if (!job->flying.first)
        return NULL;
    if (mover_enter(&peer_mover, job->context) == CUDA_SUCCESS)
        result = peer_block_ask(job->flying.first);
    if (result == CUDA_ERROR_NOT_READY)
        return NULL;
    if (result != CUDA_SUCCESS)
        peer_job_fail(job, result);
    return peer_queue_pop(&job->flying);
}

bool peer_has_room(const struct peer_link *link)
{
    switch (link->carriage) {
    case PEER_BEHIND: return link->credits;
    case PEER_SHARED: return true; // the block is that one
    case PEER_WRITTEN: break;
    }
    return link->far_blocks && link->lent != ALL_SLOTS;
}

// Returns true if the other end has room for one more block.
static bool peer_jobs_has_room(const struct peer_job *job)
{
    return job->route.far || peer_has_room(job->link);
}

static void peer_jobs_send_block(struct peer_job *job, struct peer_block *block)
{
    struct peer_link *link = job->link;
    const struct wire_peer_frame frame = {.kind = PEER_DATA,
                                          .job = job->id,
                                          .offset = block->offset,
                                          .bytes = block->size,
                                          .slot = block->slot};

    peer_send_frame(link, frame, link->carriage == PEER_BEHIND ? block->data : NULL);
}

static uint64_t peer_jobs_take_slot(struct peer_link *link, struct peer_block *block)
{
    block->slot = (uint32_t)__builtin_ctz(~link->lent);
    link->lent |= peer_block_bit(block);
    return link->far_blocks + (uint64_t)block->slot * WIRE_BLOCK_SIZE;
}

int peer_block_write(struct peer_link *link, struct peer_block *block)
{
    uint64_t remote = peer_jobs_take_slot(link, block);

    peer_queue_push(&link->puts_writing, block);
    return peer_link_write(link, block, remote, link->far_key, NULL);
}

// The frame follows when the block is there.
static void begin_write(struct peer_job *job, struct peer_block *block)
{
    struct peer_link *link = job->link;
    const struct peer_route *route = &job->route;
    uint64_t remote = route->far ? route->far + block->offset : peer_jobs_take_slot(link, block);
    uint32_t key = route->far ? route->far_key : link->far_key;

    block->job = job;
    peer_queue_push(&job->writing, block);
    if (link->lost == CUDA_SUCCESS &&
        peer_link_write(link, block, remote, key,
                        route->direct ? direct_registered(route->direct) : NULL))
        peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
}

// Sends BLOCK, whose copy is over, or starts its write.
static void pass_block(struct peer_job *job, struct peer_block *block)
{
    struct peer_link *link = job->link;
    bool goes = job->result == CUDA_SUCCESS;

    if (goes && link->carriage == PEER_WRITTEN) {
        begin_write(job, block);
        return;
    }
    job->over += block->size;
    if (goes && link->carriage == PEER_SHARED)
        link->lent |= peer_block_bit(block); // until it comes back
    else if (goes)
        link->credits--;
    if (goes)
        peer_jobs_send_block(job, block);
    if (!goes || link->carriage == PEER_BEHIND)
        peer_block_give(&link->blocks, block);
}

static bool peer_jobs_send_out(struct peer_job *job)
{
    struct peer_block *block;
    bool any = false;

    while ((job->result != CUDA_SUCCESS || peer_jobs_has_room(job)) && (block = take_landed(job))) {
        pass_block(job, block);
        any = true;
    }
    return any;
}

static void tell_placed(struct peer_job *job)
{
    if (job->result == CUDA_SUCCESS && job->over == job->total)
        peer_jobs_say(job, PEER_PLACED);
}

// Writes end in the order in which they began, so that the block is the first of its copy.
static void end_write(struct peer_block *block)
{
    struct peer_job *job = block->job;
    struct peer_link *link = job->link;

    peer_queue_pop(&job->writing);
    job->over += block->size;
    if (job->route.far)
        tell_placed(job);
    else if (job->result == CUDA_SUCCESS)
        peer_jobs_send_block(job, block);
    else
        link->lent &= ~peer_block_bit(block); // the other end does not know of it
    peer_block_give(&link->blocks, block);
}

// Drops the writes of a link that is down and writes no more.
static bool drop_writes(struct peer_link *link)
{
    bool any = link->puts_writing.first;

    while (link->puts_writing.first)
        far_puts_written(link, peer_queue_pop(&link->puts_writing));

    for (struct peer_job *job = link->jobs; job; job = job->next)
        while (job->writing.first) {
            end_write(job->writing.first);
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
            end_write(blocks[i]);
        else
            far_puts_written(link, peer_queue_pop(&link->puts_writing));
    if (count < 0)
        peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
    return count != 0;
}

static bool peer_jobs_store(struct peer_job *job)
{
    struct peer_block *block;
    CUstream stream;
    bool any = false;

    while (job->arrived.first && job->result == CUDA_SUCCESS) {
        block = peer_queue_pop(&job->arrived);
        CUresult result = peer_jobs_enter(job, &stream);
        if (result == CUDA_SUCCESS)
            result = queue_copy(job, block, stream);
        if (result == CUDA_SUCCESS) {
            peer_queue_push(&job->flying, block);
        } else {
            peer_block_return(job->link, block);
            peer_job_fail(job, result);
        }
        any = true;
    }
    while ((block = take_landed(job))) {
        job->over += block->size;
        peer_block_return(job->link, block);
        any = true;
    }
    return any;
}

// All of it has been written into our memory.
static bool take_placed(struct peer_job *job)
{
    if (job->there != THERE_DONE || job->over == job->total || job->result != CUDA_SUCCESS)
        return false;
    CUresult result = mover_enter(&peer_mover, job->context);
    if (result == CUDA_SUCCESS)
        result = direct_flush();
    if (result != CUDA_SUCCESS)
        peer_job_fail(job, result);
    else
        job->over = job->total;
    return true;
}

// Says that we take part or, where the stream is ours and the source is not, that it is there.
static bool peer_jobs_tell(struct peer_job *job)
{
    if (job->here == HERE_REPORTED ||
        (job->owns && (job->sends || job->there < THERE_READY || !peer_jobs_is_due(job))) ||
        job->result != CUDA_SUCCESS)
        return false;
    peer_job_rise(job, HERE_REPORTED);
    if (job->owns)
        choose_route(job);
    if (job->result == CUDA_SUCCESS)
        peer_jobs_say(job, job->owns ? PEER_GO : PEER_READY);
    return true;
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
        peer_jobs_say(job, PEER_FAILED);
    else if (job->result == CUDA_SUCCESS && !job->sends && !job->owns)
        peer_jobs_say(job, PEER_DONE);
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

static bool advance_job(struct peer_job *job)
{
    bool any = peer_jobs_tell(job);

    if (job->sends) {
        any |= job->result == CUDA_SUCCESS && copy_out(job);
        any |= peer_jobs_send_out(job);
    } else {
        any |= !job->owns && job->here == HERE_REPORTED && register_wanted(job);
        any |= peer_jobs_store(job);
        any |= take_placed(job);
    }
    return any;
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
                any |= advance_job(job);
        any |= end_writes(link);
        any |= peer_jobs_end(link);
        any |= tell_credit(link);
    }
    peer_links_reap();
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

// ---- what others say, under lock ----

struct peer_job *peer_job_find(struct peer_link *link, uint64_t id)
{
    struct peer_job *job = link->jobs;

    while (job && job->id != id)
        job = job->next;
    return job;
}

struct peer_job *peer_job_get(struct peer_link *link, uint64_t id)
{
    struct peer_job *job = peer_job_find(link, id), **at = &link->jobs;

    // Copies are asked for in the order of their numbers, so that one which is not there any more
    // has ended.
    if (job || id <= link->newest || link->half_known == HALF_KNOWN_MAX)
        return job;
    job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->link = link;
    job->id = id;
    job->semaphore = -1;
    while (*at)
        at = &(*at)->next;
    *at = job;
    link->half_known++;
    link->job_count++;
    return job;
}

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

void peer_job_fail(struct peer_job *job, CUresult result)
{
    if (job->result == CUDA_SUCCESS)
        job->result = result;
    while (job->arrived.first)
        peer_block_return(job->link, peer_queue_pop(&job->arrived));
}

// Reported to the client before its effects.
static void tell_loss(const struct peer_link *link, CUresult result)
{
    const struct wire_peer_over over = {.peer = link->number, .result = (int32_t)result};

    event_send(EVENT_PEER_OVER, &over, sizeof(over), 0);
}

void peer_link_lose(struct peer_link *link, CUresult result)
{
    if (link->lost == CUDA_SUCCESS && link->direct)
        tell_loss(link, result);
    if (link->lost == CUDA_SUCCESS)
        link->lost = result;
    if (link->direct)
        link_shutdown(link->direct);
    kernel_windows_lose(link->number);
    if (link->reaches)
        peer_windows_drop(link->number);
    link->reaches = false;
    for (struct peer_job *job = link->jobs; job; job = job->next) {
        peer_job_note(job, THERE_FAILED);
        peer_job_fail(job, result);
    }
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
    context_watch(peer_jobs_forget_context);
    peer_windows_prepare();
    kernel_windows_prepare();
}

int peer_jobs_start(void)
{
    static bool started;
    int err = started ? 0 : mover_start(&peer_mover);

    direct_start();
    started = !err;
    return err;
}
