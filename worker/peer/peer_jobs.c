// SPDX-License-Identifier: BSD-3-Clause
#include "worker/peer/peer_jobs.h"

#include <errno.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/scope.h"
#include "worker/context_watchers.h"
#include "worker/events.h"
#include "worker/expected.h"
#include "worker/move/gates.h"
#include "worker/peer/peer_windows.h"

enum { HALF_KNOWN_MAX = 4096 };

static unsigned begun; // copies of all links

static bool any_begun(void);
static bool advance(void);
struct mover peer_mover = MOVER(.has_work = any_begun, .advance = advance);

// ---- queues ----

static void push(struct peer_queue *queue, struct peer_block *block)
{
    block->next = NULL;
    if (queue->last)
        queue->last->next = block;
    else
        queue->first = block;
    queue->last = block;
}

static struct peer_block *pop(struct peer_queue *queue)
{
    struct peer_block *block = queue->first;

    queue->first = block->next;
    if (!queue->first)
        queue->last = NULL;
    return block;
}

static void give_back(struct peer_link *link, struct peer_block *block)
{
    peer_block_give(&link->blocks, block);
    link->owed += block->incoming;
}

// ---- what the thread does; the lock is given up while it sends ----

static void send_frame(struct peer_link *link, struct wire_peer_frame frame, const void *payload)
{
    if (link->lost != CUDA_SUCCESS)
        return;
    pthread_mutex_unlock(&peer_mover.lock);
    bool sent = peer_link_send(link, frame, payload);
    pthread_mutex_lock(&peer_mover.lock);
    if (!sent)
        peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
}

static void say(struct peer_job *job, enum wire_peer_kind kind)
{
    const struct wire_peer_frame frame = {.kind = kind,
                                          .job = job->id,
                                          .result = (int32_t)job->result};

    send_frame(job->link, frame, NULL);
}

// The context of the memory, and a stream there for one direction.
static CUresult enter(struct peer_job *job, CUstream *stream)
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

    return result == CUDA_SUCCESS ? peer_block_mark(block, job->context, stream) : result;
}

// Whether our stream is there, or has not to be.
static bool is_due(struct peer_job *job)
{
    if (job->reached || !job->owns)
        return true;
    CUresult result = mover_enter(&peer_mover, job->start_context);
    if (result == CUDA_SUCCESS)
        result = driver.cuEventQuery(job->start);
    if (result == CUDA_ERROR_NOT_READY)
        return false;
    if (result != CUDA_SUCCESS)
        peer_job_fail(job, result);
    job->reached = result == CUDA_SUCCESS;
    return job->reached;
}

static bool copy_out(struct peer_job *job)
{
    struct peer_block *block;
    CUstream stream;
    bool any = false;

    if (!job->other_goes || job->queued == job->total || !is_due(job))
        return false;
    while (job->result == CUDA_SUCCESS && job->queued < job->total &&
           (block = peer_block_take(&job->link->blocks, false))) {
        block->offset = job->queued;
        block->size = peer_shape_piece(&job->shape, job->queued);
        CUresult result = enter(job, &stream);
        if (result == CUDA_SUCCESS)
            result = queue_copy(job, block, stream);
        if (result == CUDA_SUCCESS) {
            push(&job->flying, block);
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
    return pop(&job->flying);
}

static bool send_out(struct peer_job *job)
{
    struct peer_link *link = job->link;
    struct peer_block *block;
    bool any = false;

    while ((link->credits || job->result != CUDA_SUCCESS) && (block = take_landed(job))) {
        struct wire_peer_frame frame = {
            .kind = PEER_DATA, .job = job->id, .offset = block->offset, .bytes = block->size};
        if (job->result == CUDA_SUCCESS) {
            link->credits--;
            send_frame(link, frame, block->data);
        }
        job->over += block->size;
        peer_block_give(&link->blocks, block);
        any = true;
    }
    return any;
}

static bool store(struct peer_job *job)
{
    struct peer_block *block;
    CUstream stream;
    bool any = false;

    while (job->arrived.first && job->result == CUDA_SUCCESS) {
        block = pop(&job->arrived);
        CUresult result = enter(job, &stream);
        if (result == CUDA_SUCCESS)
            result = queue_copy(job, block, stream);
        if (result == CUDA_SUCCESS) {
            push(&job->flying, block);
        } else {
            give_back(job->link, block);
            peer_job_fail(job, result);
        }
        any = true;
    }
    while ((block = take_landed(job))) {
        job->over += block->size;
        give_back(job->link, block);
        any = true;
    }
    return any;
}

// Says that we take part or, where the stream is ours and the source is not, that it is there.
static bool tell(struct peer_job *job)
{
    if (job->told || (job->owns && (job->sends || !job->other_goes || !is_due(job))) ||
        job->result != CUDA_SUCCESS)
        return false;
    job->told = true;
    say(job, job->owns ? PEER_GO : PEER_READY);
    return true;
}

// ---- the end of a copy ----

static bool is_over(const struct peer_job *job)
{
    if (job->flying.first)
        return false;
    if (job->result != CUDA_SUCCESS)
        return true;
    return job->over == job->total && (!job->sends || !job->owns || job->stored);
}

// Word of a failure reaches the client before the stream goes on, and by that whoever waits for it. Where the frames
// go by way of the client, it also has to know when no more will come.
static void report(const struct peer_job *job)
{
    if (job->link->direct && job->result == CUDA_SUCCESS)
        return;
    const struct wire_peer_over over = {.peer = job->link->number,
                                        .result = (int32_t)job->result,
                                        .job = job->id,
                                        .waiting = job->waiting};

    event_send(EVENT_PEER_OVER, &over, sizeof(over), 0);
}

static void end_job(struct peer_job *job)
{
    if (job->result != CUDA_SUCCESS && !job->failed_there)
        say(job, PEER_FAILED);
    else if (job->result == CUDA_SUCCESS && !job->sends && !job->owns)
        say(job, PEER_DONE);
    if (job->owns)
        report(job);
    if (job->start_context && mover_enter(&peer_mover, job->start_context) == CUDA_SUCCESS)
        driver.cuEventDestroy_v2(job->start);
    if (job->gate >= 0) {
        gate_open(job->gate, job->ticket);
        gate_release(job->gate);
    }
    copied_range_over(&job->copied);
    expected_came();
    begun--;
    pthread_cond_broadcast(&peer_mover.ended);
    free(job);
}

// Others append to the list while end_job speaks.
static bool end_jobs(struct peer_link *link)
{
    bool any = false;

    for (struct peer_job **at = &link->jobs; *at;) {
        struct peer_job *job = *at;
        if (!job->begun || !is_over(job)) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        end_job(job);
        any = true;
    }
    return any;
}

static bool tell_credit(struct peer_link *link)
{
    const struct wire_peer_frame frame = {.kind = PEER_CREDIT, .offset = link->owed};

    if (!link->owed)
        return false;
    link->owed = 0;
    send_frame(link, frame, NULL);
    return true;
}

static bool advance_job(struct peer_job *job)
{
    bool any = tell(job);

    if (job->sends) {
        any |= job->result == CUDA_SUCCESS && copy_out(job);
        any |= send_out(job);
    } else {
        any |= store(job);
    }
    return any;
}

static bool advance(void)
{
    bool any = false;

    for (struct peer_link *link = peer_links; link; link = link->next) {
        if (link->state == PEER_MEETING)
            continue;
        for (struct peer_job *job = link->jobs; job; job = job->next)
            if (job->begun)
                any |= advance_job(job);
        any |= end_jobs(link);
        any |= tell_credit(link);
    }
    return any;
}

static bool any_begun(void)
{
    if (begun)
        return true;
    for (const struct peer_link *link = peer_links; link; link = link->next)
        if (link->owed)
            return true;
    return false;
}

// ---- what others say, under lock ----

static struct peer_job *find(struct peer_link *link, uint64_t id)
{
    struct peer_job *job = link->jobs;

    while (job && job->id != id)
        job = job->next;
    return job;
}

struct peer_job *peer_job_get(struct peer_link *link, uint64_t id)
{
    struct peer_job *job = find(link, id), **at = &link->jobs;

    // Copies are asked for in the order of their numbers, so that one which is not there any more has ended.
    if (job || id <= link->newest || link->half_known == HALF_KNOWN_MAX)
        return job;
    job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->link = link;
    job->id = id;
    job->gate = -1;
    while (*at)
        at = &(*at)->next;
    *at = job;
    link->half_known++;
    return job;
}

void peer_job_begin(struct peer_job *job)
{
    job->begun = true;
    job->link->newest = job->id;
    job->link->half_known--;
    if (job->link->lost != CUDA_SUCCESS)
        peer_job_fail(job, job->link->lost);
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
        give_back(job->link, pop(&job->arrived));
}

// Known to the client before anything comes of it.
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
    if (link->reaches)
        peer_windows_drop(link->number);
    link->reaches = false;
    for (struct peer_job *job = link->jobs; job; job = job->next) {
        job->failed_there = true;
        peer_job_fail(job, result);
    }
    pthread_cond_signal(&peer_mover.added);
}

// ---- frames ----

// Where the sender has more under way than there is room, or the link is not one of ours.
static int drop_payload(const struct wire_peer_frame *frame, struct link *from)
{
    SCOPED_FREE uint8_t *nowhere = malloc(WIRE_BLOCK_SIZE);

    return nowhere ? link_receive_bulk(from, nowhere, frame->bytes) : -ENOMEM;
}

static struct peer_block *take_block(uint32_t number, struct peer_link **link)
{
    SCOPED_LOCK(&peer_mover.lock);
    *link = peer_link_find(number);
    return *link ? peer_block_take(&(*link)->blocks, true) : NULL;
}

static int take_data(const struct wire_peer_frame *frame, struct link *from)
{
    struct peer_link *link;
    struct peer_block *block = take_block(frame->peer, &link);

    if (!block)
        return drop_payload(frame, from);
    int err = link_receive_bulk(from, block->data, frame->bytes);
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_job *job = find(link, frame->job);
    block->offset = frame->offset;
    block->size = frame->bytes;
    bool fits = job && job->begun && !job->sends &&
                peer_shape_has_piece(&job->shape, frame->offset, frame->bytes);
    if (!err && fits && job->result == CUDA_SUCCESS)
        push(&job->arrived, block);
    else
        give_back(link, block);
    if (job && job->begun && !fits)
        peer_job_fail(job, CUDA_ERROR_UNKNOWN);
    pthread_cond_signal(&peer_mover.added);
    return err;
}

static void take_word(const struct wire_peer_frame *frame, struct peer_job *job)
{
    switch ((enum wire_peer_kind)frame->kind) {
    case PEER_READY:
    case PEER_GO: job->other_goes = true; return;
    case PEER_DONE: job->stored = true; return;
    case PEER_FAILED:
        job->failed_there = true;
        peer_job_fail(job, frame->result ? (CUresult)frame->result : CUDA_ERROR_UNKNOWN);
        return;
    case PEER_DATA:
    case PEER_CREDIT: return;
    }
}

int peer_take_frame(const struct wire_peer_frame *frame, struct link *from)
{
    if (frame->kind == PEER_DATA)
        return frame->bytes && frame->bytes <= WIRE_BLOCK_SIZE ? take_data(frame, from) : -EPROTO;
    if (frame->bytes)
        return -EPROTO;
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(frame->peer);
    if (!link)
        return 0;
    if (frame->kind == PEER_CREDIT) {
        link->credits += frame->offset < PEER_IN_BLOCKS ? (unsigned)frame->offset : PEER_IN_BLOCKS;
    } else {
        struct peer_job *job = peer_job_get(link, frame->job);
        if (job)
            take_word(frame, job);
    }
    pthread_cond_signal(&peer_mover.added);
    return 0;
}

void peer_jobs_settle(uint32_t number, uint64_t id)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_link_find(number);
    const struct peer_job *job = link ? link->jobs : NULL;
    while (job) {
        if (job->begun && job->owns && job->id <= id) {
            pthread_cond_wait(&peer_mover.ended, &peer_mover.lock);
            job = link->jobs;
        } else {
            job = job->next;
        }
    }
}

// ---- the beginning, and contexts that go ----

static void forget_context(CUcontext context)
{
    SCOPED_LOCK(&peer_mover.lock);
    for (struct peer_link *link = peer_links; link; link = link->next) {
        for (struct peer_job *job = link->jobs; job; job = job->next) {
            if (job->start_context == context) {
                driver.cuEventDestroy_v2(job->start);
                job->start_context = NULL;
                if (!job->reached)
                    peer_job_fail(job, CUDA_ERROR_CONTEXT_IS_DESTROYED);
            }
            if (job->begun && job->context == context) {
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
    context_watch(forget_context);
    peer_windows_prepare();
}

int peer_jobs_start(void)
{
    static bool started;
    int err = started ? 0 : mover_start(&peer_mover);

    started = !err;
    return err;
}
