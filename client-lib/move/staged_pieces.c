// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/move/staged_pieces.h"

#include "client-lib/move/crew.h"
#include "client-lib/move/flags.h"
#include "client-lib/objects/call.h"
#include "client-lib/objects/thread.h"

enum {
    SIZE_UNIT = 128 * 1024,
    FEW =
        4, // pieces, for which it does not pay to begin with the first ones before the last ones are there
    CREW_MIN = 2 * 1024 * 1024, // below, waking helpers takes longer than they save
};

static bool next_piece(struct staged_job *job, size_t *piece)
{
    if (atomic_load_explicit(&job->result, memory_order_relaxed) != CUDA_SUCCESS)
        return false;
    *piece = atomic_fetch_add(&job->next, 1);
    return *piece < job->pieces;
}

static void note(struct staged_job *job, CUresult result)
{
    int none = CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        atomic_compare_exchange_strong(&job->result, &none, (int)result);
}

// The copy between the GPU and the block, and the flag behind it.
static CUresult ask(struct staged_job *job, size_t piece, struct staging_block *block)
{
    CUresult result = job->kind->ask(job, piece, block);
    if (result == CUDA_SUCCESS)
        result = block_signal(job->session, block, job->kind->bytes(job, piece), job->stream);
    note(job, result);
    return result;
}

static void pieces_to_device(void *argument)
{
    struct staged_job *job = argument;
    struct box_session *session = job->session;
    size_t piece;
    while (next_piece(job, &piece)) {
        CUresult result;
        struct staging_block *block = block_take(session, false, &result);
        if (!block) {
            note(job, result);
            return;
        }
        job->kind->move(job, piece, block_memory(session, block));
        calls_gather();
        if (ask(job, piece, block) == CUDA_SUCCESS)
            block_set(session, block, BLOCK_SENT);
        else
            block_abandon(session, block);
        calls_leave(session); // it is to be on its way while the next one is filled
    }
}

bool staged_request(struct staged_job *job, bool try, struct staged_arrival *arrival)
{
    CUresult result;
    arrival->block = block_take(job->session, try, &result);
    if (!arrival->block) {
        note(job, result);
        return false;
    }
    if (!next_piece(job, &arrival->piece)) {
        block_set(job->session, arrival->block, BLOCK_FREE);
        return false;
    }
    if (ask(job, arrival->piece, arrival->block) == CUDA_SUCCESS)
        return true;
    block_abandon(job->session, arrival->block);
    return false;
}

// Some that are on their way, oldest first.
struct arrivals {
    struct staged_arrival list[BLOCKS_IN_FLIGHT];
    unsigned int first, count;
};

static struct staged_arrival *arrival_at(struct arrivals *arrivals, unsigned int place)
{
    return &arrivals->list[(arrivals->first + place) % BLOCKS_IN_FLIGHT];
}

// Waits for the first of them or, where a sleep takes longer than a block does, for half of them. With the last pieces on
// their way one wait for all of them will do.
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
    if (result == CUDA_SUCCESS) // its own flag, as a later one tells nothing of a failure
        result = wait_flag(job->session, block_index(job->session->blocks, arrival->block),
                           arrival->block->use, 0, job->stream);
    arrivals->first = (arrivals->first + 1) % BLOCKS_IN_FLIGHT;
    arrivals->count--;
    note(job, result);
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
    if (job->total >= CREW_MIN)
        crew_run(work, job, (CUcontext)(uintptr_t)thread_context());
    else
        work(job);
    return (CUresult)atomic_load(&job->result);
}
