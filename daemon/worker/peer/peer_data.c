// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_data.h"

#include "daemon/worker/copy/parts/direct.h"

enum { ALL_SLOTS = (1 << PEER_IN_BLOCKS) - 1 };

// The context of the memory, and a stream there for one direction.
static CUresult peer_data_enter(struct peer_job *job, CUstream *stream)
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
static bool peer_data_is_due(struct peer_job *job)
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

static bool peer_data_enter_memory(struct peer_job *job)
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
    if (!peer_data_enter_memory(job))
        return;
    peer_route_choose(&job->route);
    tell_means(job);
    if (job->route.asked)
        peer_job_say(job, PEER_REGISTER);
}

// As the other end has chosen.
static bool register_wanted(struct peer_job *job)
{
    if (!job->route.wanted || job->route.reported || job->result != CUDA_SUCCESS ||
        !peer_data_enter_memory(job))
        return false;
    peer_route_register(&job->route);
    tell_means(job);
    if (!job->sends)
        peer_job_say(job, PEER_READY);
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

static bool peer_data_has_room(const struct peer_job *job);
static void begin_write(struct peer_job *job, struct peer_block *block);

// From where it is, without a copy before.
static bool peer_data_write_out(struct peer_job *job)
{
    struct peer_block *block;
    bool any = false;

    while (job->result == CUDA_SUCCESS && job->queued < job->total && peer_data_has_room(job) &&
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

    if (job->there < THERE_READY || job->queued == job->total || !peer_data_is_due(job) ||
        !has_route(job))
        return false;
    if (job->route.direct)
        return peer_data_write_out(job);
    while (job->result == CUDA_SUCCESS && job->queued < job->total &&
           (block = peer_block_take(&job->link->blocks))) {
        block->offset = job->queued;
        block->size = peer_shape_piece(&job->shape, job->queued);
        CUresult result = peer_data_enter(job, &stream);
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
static bool peer_data_has_room(const struct peer_job *job)
{
    return job->route.far || peer_has_room(job->link);
}

static void peer_data_send_block(struct peer_job *job, struct peer_block *block)
{
    struct peer_link *link = job->link;
    const struct wire_peer_frame frame = {.kind = PEER_DATA,
                                          .job = job->id,
                                          .offset = block->offset,
                                          .bytes = block->size,
                                          .slot = block->slot};

    peer_send_frame(link, frame, link->carriage == PEER_BEHIND ? block->data : NULL);
}

static uint64_t peer_data_take_slot(struct peer_link *link, struct peer_block *block)
{
    block->slot = (uint32_t)__builtin_ctz(~link->lent);
    link->lent |= peer_block_bit(block);
    return link->far_blocks + (uint64_t)block->slot * WIRE_BLOCK_SIZE;
}

int peer_block_write(struct peer_link *link, struct peer_block *block)
{
    uint64_t remote = peer_data_take_slot(link, block);

    peer_queue_push(&link->puts_writing, block);
    return peer_link_write(link, block, remote, link->far_key, NULL);
}

// The frame follows when the block is there.
static void begin_write(struct peer_job *job, struct peer_block *block)
{
    struct peer_link *link = job->link;
    const struct peer_route *route = &job->route;
    uint64_t remote = route->far ? route->far + block->offset : peer_data_take_slot(link, block);
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
        peer_data_send_block(job, block);
    if (!goes || link->carriage == PEER_BEHIND)
        peer_block_give(&link->blocks, block);
}

static bool peer_data_send_out(struct peer_job *job)
{
    struct peer_block *block;
    bool any = false;

    while ((job->result != CUDA_SUCCESS || peer_data_has_room(job)) && (block = take_landed(job))) {
        pass_block(job, block);
        any = true;
    }
    return any;
}

static void tell_placed(struct peer_job *job)
{
    if (job->result == CUDA_SUCCESS && job->over == job->total)
        peer_job_say(job, PEER_PLACED);
}

// Writes end in the order in which they began, so that the block is the first of its copy.
void peer_data_written(struct peer_block *block)
{
    struct peer_job *job = block->job;
    struct peer_link *link = job->link;

    peer_queue_pop(&job->writing);
    job->over += block->size;
    if (job->route.far)
        tell_placed(job);
    else if (job->result == CUDA_SUCCESS)
        peer_data_send_block(job, block);
    else
        link->lent &= ~peer_block_bit(block); // the other end does not know of it
    peer_block_give(&link->blocks, block);
}

static bool peer_data_store(struct peer_job *job)
{
    struct peer_block *block;
    CUstream stream;
    bool any = false;

    while (job->arrived.first && job->result == CUDA_SUCCESS) {
        block = peer_queue_pop(&job->arrived);
        CUresult result = peer_data_enter(job, &stream);
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
static bool peer_data_tell(struct peer_job *job)
{
    if (job->here == HERE_REPORTED ||
        (job->owns && (job->sends || job->there < THERE_READY || !peer_data_is_due(job))) ||
        job->result != CUDA_SUCCESS)
        return false;
    peer_job_rise(job, HERE_REPORTED);
    if (job->owns)
        choose_route(job);
    if (job->result == CUDA_SUCCESS)
        peer_job_say(job, job->owns ? PEER_GO : PEER_READY);
    return true;
}

bool peer_data_advance(struct peer_job *job)
{
    bool any = peer_data_tell(job);

    if (job->sends) {
        any |= job->result == CUDA_SUCCESS && copy_out(job);
        any |= peer_data_send_out(job);
    } else {
        any |= !job->owns && job->here == HERE_REPORTED && register_wanted(job);
        any |= peer_data_store(job);
        any |= take_placed(job);
    }
    return any;
}
