// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/copy/staged_pieces.h"

#include "client-lib/cuda/copy/copy_threads.h"
#include "client-lib/cuda/copy/flags.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/thread.h"

enum {
    SIZE_UNIT = 128 * 1024,
    FEW =
        // pieces; with so few left, one wait for all is faster than a wait for the first ones
    4,
    COPY_THREADS_MIN = 2 * 1024 *
                       1024, // below this size, waking copy threads takes longer than they save
};

static bool staged_pieces_next_piece(struct staged_job *job, size_t *piece)
{
    if (atomic_load_explicit(&job->result, memory_order_relaxed) != CUDA_SUCCESS)
        return false;
    *piece = atomic_fetch_add(&job->next, 1);
    return *piece < job->pieces;
}

static void staged_pieces_note(struct staged_job *job, CUresult result)
{
    int none = CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        atomic_compare_exchange_strong(&job->result, &none, (int)result);
}

// Requests the copy between the GPU and the block, and the flag that signals its end.
static CUresult staged_pieces_ask(struct staged_job *job, size_t piece, struct staging_block *block)
{
    CUresult result = job->kind->ask(job, piece, block);
    if (result == CUDA_SUCCESS)
        result = block_signal(job->session, block, job->kind->bytes(job, piece), job->stream);
    staged_pieces_note(job, result);
    return result;
}

static void pieces_to_device(void *argument)
{
    struct staged_job *job = argument;
    struct box_session *session = job->session;
    size_t piece;
    while (staged_pieces_next_piece(job, &piece)) {
        CUresult result;
        struct staging_block *block = block_take(session, false, &result);
        if (!block) {
            staged_pieces_note(job, result);
            return;
        }
        job->kind->move(job, piece, block_memory(session, block));
        calls_gather();
        if (staged_pieces_ask(job, piece, block) == CUDA_SUCCESS)
            block_set(session, block, BLOCK_SENT);
        else
            block_abandon(session, block);
        calls_leave(session); // so that the block is in transit while the next one is filled
    }
}

bool staged_request(struct staged_job *job, bool try, struct staged_arrival *arrival)
{
    CUresult result;
    arrival->block = block_take(job->session, try, &result);
    if (!arrival->block) {
        staged_pieces_note(job, result);
        return false;
    }
    if (!staged_pieces_next_piece(job, &arrival->piece)) {
        block_set(job->session, arrival->block, BLOCK_FREE);
        return false;
    }
    if (staged_pieces_ask(job, arrival->piece, arrival->block) == CUDA_SUCCESS)
        return true;
    block_abandon(job->session, arrival->block);
    return false;
}

// Pieces in transit, oldest first.
struct arrivals {
    struct staged_arrival list[BLOCKS_IN_FLIGHT];
    unsigned int first, count;
};

static struct staged_arrival *arrival_at(struct arrivals *arrivals, unsigned int place)
{
    return &arrivals->list[(arrivals->first + place) % BLOCKS_IN_FLIGHT];
}

// Waits for the first of them or, if a sleep takes longer than a block, for half of them. If few
// are left, it waits for the last one only.
static CUresult await_arrivals(struct staged_job *job, struct arrivals *arrivals)
{
    struct box_session *session = job->session;
    unsigned int place = session->memory->flags_come_late ? arrivals->count / 2 : 0;
    bool last = arrivals->count <= FEW && atomic_load(&job->next) >= job->pieces;
    uint32_t size = 0;
    for (unsigned int i = 0; i <= place && !last; i++)
        size += arrival_at(arrivals, i)->block->size;
    const struct staging_block *block = arrival_at(arrivals, place)->block;
    return wait_flag(session, block_index(session->blocks, block), block->use, size, job->stream);
}

static bool has_come(const struct staged_job *job, const struct staged_arrival *arrival)
{
    return flag_reached(job->session, block_index(job->session->blocks, arrival->block),
                        arrival->block->use);
}

static void take_first(struct staged_job *job, struct arrivals *arrivals)
{
    struct staged_arrival *arrival = arrival_at(arrivals, 0);
    CUresult result = has_come(job, arrival) ? CUDA_SUCCESS : await_arrivals(job, arrivals);
    if (result == CUDA_SUCCESS) // checks its own flag, since a later flag does not show a failure
        result = wait_flag(job->session, block_index(job->session->blocks, arrival->block),
                           arrival->block->use, 0, job->stream);
    arrivals->first = (arrivals->first + 1) % BLOCKS_IN_FLIGHT;
    arrivals->count--;
    staged_pieces_note(job, result);
    if (result != CUDA_SUCCESS) {
        block_abandon(job->session, arrival->block);
        return;
    }
    job->kind->move(job, arrival->piece, block_memory(job->session, arrival->block));
    block_set(job->session, arrival->block, BLOCK_FREE);
}

static void pieces_from_device(void *argument)
{
    struct staged_job *job = argument;
    struct arrivals arrivals = {0};
    for (;;) {
        calls_gather();
        while (arrivals.count < job->session->memory->in_flight &&
               staged_request(job, arrivals.count > 0, arrival_at(&arrivals, arrivals.count)))
            arrivals.count++;
        calls_leave(job->session);
        if (!arrivals.count)
            return;
        take_first(job, &arrivals);
    }
}

size_t staged_piece_size(const struct box_session *session, size_t size)
{
    size_t block = session->staging->block_size;
    size_t least = session->memory->chunk_min;
    size_t piece = (size / 8 + SIZE_UNIT - 1) & ~(size_t)(SIZE_UNIT - 1);
    piece = piece < least ? least : piece;
    return piece < block ? piece : block;
}

CUresult staged_run(struct staged_job *job, bool to_device)
{
    void (*work)(void *) = to_device ? pieces_to_device : pieces_from_device;
    if (job->total >= COPY_THREADS_MIN)
        copy_threads_run(work, job, (CUcontext)(uintptr_t)thread_context());
    else
        work(job);
    return (CUresult)atomic_load(&job->result);
}
