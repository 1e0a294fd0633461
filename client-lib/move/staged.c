// SPDX-License-Identifier: BSD-3-Clause
// Linear copies of ordinary memory through staging blocks that the GPU reads and writes itself, or that the
// box fetches and stores.
//
// A large copy is cut into chunks, which the calling thread and helper threads move concurrently: chunks of
// one copy have no order among themselves.
#include <stdatomic.h>
#include <string.h>

#include "client-lib/move/blocks.h"
#include "client-lib/move/copies.h"
#include "client-lib/move/crew.h"
#include "client-lib/move/flags.h"
#include "client-lib/objects/thread.h"
#include "client_calls.h"

enum {
    CHUNK_UNIT = 128 * 1024,
    CREW_MIN = 2 * 1024 * 1024, // below, waking helpers takes longer than they save
};

struct staged_copy {
    struct box_session *session;
    CUdeviceptr device;
    uint8_t *host;
    size_t size;
    size_t chunk;
    CUstream stream;
    CUcontext context;
    _Atomic size_t next; // offset of the next chunk
    _Atomic int result;
};

static bool next_chunk(struct staged_copy *copy, size_t *offset, size_t *size)
{
    if (atomic_load_explicit(&copy->result, memory_order_relaxed) != CUDA_SUCCESS)
        return false;
    *offset = atomic_fetch_add(&copy->next, copy->chunk);
    if (*offset >= copy->size)
        return false;
    *size = copy->size - *offset < copy->chunk ? copy->size - *offset : copy->chunk;
    return true;
}

static void note(struct staged_copy *copy, CUresult result)
{
    int none = CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        atomic_compare_exchange_strong(&copy->result, &none, (int)result);
}

static void chunks_to_device(void *argument)
{
    struct staged_copy *copy = argument;
    struct box_session *session = copy->session;
    size_t offset, size;
    while (next_chunk(copy, &offset, &size)) {
        CUresult result;
        struct staging_block *block = block_take(session, false, &result);
        if (!block) {
            note(copy, result);
            return;
        }
        memcpy(block_memory(session, block), copy->host + offset, size);
        result = remote_copy_to_device(copy->device + offset, block_name(session, block), size,
                                       copy->stream);
        if (result == CUDA_SUCCESS)
            result = block_signal(session, block, size, copy->stream);
        if (result == CUDA_SUCCESS)
            block_set(session, block, BLOCK_SENT);
        else
            block_abandon(session, block);
        note(copy, result);
    }
}

struct arrival {
    struct staging_block *block;
    size_t offset;
    size_t size;
};

// Asks for the next chunk. False: there is none, or no block without waiting (TRY).
static bool request_chunk(struct staged_copy *copy, bool try, struct arrival *arrival)
{
    struct box_session *session = copy->session;
    CUresult result;
    arrival->block = block_take(session, try, &result);
    if (!arrival->block) {
        note(copy, result);
        return false;
    }
    if (!next_chunk(copy, &arrival->offset, &arrival->size)) {
        block_set(session, arrival->block, BLOCK_FREE);
        return false;
    }
    result = remote_copy_from_device(block_name(session, arrival->block),
                                     copy->device + arrival->offset, arrival->size, copy->stream);
    if (result == CUDA_SUCCESS)
        result = block_signal(session, arrival->block, arrival->size, copy->stream);
    if (result == CUDA_SUCCESS)
        return true;
    block_abandon(session, arrival->block);
    note(copy, result);
    return false;
}

static void chunks_from_device(void *argument)
{
    struct staged_copy *copy = argument;
    struct box_session *session = copy->session;
    struct arrival arrivals[BLOCKS_IN_FLIGHT];
    unsigned int first = 0, count = 0;
    for (;;) {
        while (count < BLOCKS_IN_FLIGHT &&
               request_chunk(copy, count > 0, &arrivals[(first + count) % BLOCKS_IN_FLIGHT]))
            count++;
        if (!count)
            return;
        link_flush(session->link);
        struct arrival *arrival = &arrivals[first];
        // With the last chunks on their way one wait for all of them will do.
        bool last = atomic_load(&copy->next) >= copy->size;
        CUresult result = wait_flag(session, block_index(session->blocks, arrival->block),
                                    arrival->block->use, last ? 0 : arrival->block->size,
                                    copy->stream);
        if (result == CUDA_SUCCESS)
            memcpy(copy->host + arrival->offset, block_memory(session, arrival->block),
                   arrival->size);
        note(copy, result);
        if (result == CUDA_SUCCESS)
            block_set(session, arrival->block, BLOCK_FREE);
        else
            block_abandon(session, arrival->block);
        first = (first + 1) % BLOCKS_IN_FLIGHT;
        count--;
    }
}

// Small enough for several chunks to be on their way at once, large enough to be worth a request.
static size_t chunk_size(const struct box_session *session, size_t size)
{
    size_t block = session->staging->block_size;
    size_t least = session->memory->chunk_min;
    size_t chunk = (size / 8 + CHUNK_UNIT - 1) & ~(size_t)(CHUNK_UNIT - 1);
    chunk = chunk < least ? least : chunk;
    return chunk < block ? chunk : block;
}

static void run(struct staged_copy *copy, void (*work)(void *))
{
    copy->chunk = chunk_size(copy->session, copy->size);
    copy->context = (CUcontext)(uintptr_t)thread_context();
    if (copy->size >= CREW_MIN)
        crew_run(work, copy, copy->context);
    else
        work(copy);
}

CUresult staged_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                          size_t size, CUstream stream)
{
    struct staged_copy copy = {
        .session = session, .device = dst, .host = (uint8_t *)src, .size = size, .stream = stream};
    run(&copy, chunks_to_device);
    return (CUresult)copy.result;
}

// The data goes to its place when a later call learns that it has come.
static CUresult owe(struct staged_copy *copy)
{
    struct box_session *session = copy->session;
    struct arrival arrival;
    copy->chunk = session->staging->block_size;
    while (request_chunk(copy, false, &arrival))
        block_owe(session, arrival.block, copy->host + arrival.offset);
    return (CUresult)copy->result;
}

CUresult staged_from_device(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                            CUstream stream, bool wait)
{
    struct staged_copy copy = {
        .session = session, .device = src, .host = dst, .size = size, .stream = stream};
    if (!wait)
        return owe(&copy);
    run(&copy, chunks_from_device);
    return (CUresult)copy.result;
}
