// Copies of ordinary memory over a link that shares memory: through staging blocks that the GPU
// reads and writes itself.
//
// Each block has a completion flag. When a block's turn in its stream is over, the GPU writes the
// number of that use to the flag (request `signal`), and the block may be used again. A large copy
// is cut into chunks, which the calling thread and helper threads move concurrently: chunks of one
// copy have no order among themselves.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client-lib/copy.h"
#include "client-lib/copyout.h"
#include "client-lib/crew.h"
#include "client-lib/exports.h"
#include "client-lib/thread.h"
#include "common/clock.h"

enum {
    CHUNK_MIN = 128 * 1024,
    REACHED_CHUNK_MIN = 256 * 1024, // each takes two requests
    CREW_MIN = 2 * 1024 * 1024, // below, waking helpers takes longer than they save
    IN_FLIGHT = 4,
    FENCE_FLAGS = 512,
    DOZE_MIN_US = 50,
    DOZE_LONGEST_US = 100000,
    DOZE_MAX_US = 1000000, // for a mebibyte
    DOZE_LIMIT_US = 2000,
};

struct block {
    enum { BLOCK_FREE, BLOCK_FILLING, BLOCK_SENT, BLOCK_OWED } state;
    uint32_t use;    // value that its flag takes when the GPU is done with it
    CUstream stream; // of its present use
    void *owed_to;   // BLOCK_OWED: where its data is to go once it has arrived
    uint32_t size;
    struct block *next; // in staging.owed, oldest first
};

struct staging {
    pthread_mutex_t lock;
    uint32_t count;
    uint32_t size;
    uint32_t next;
    _Atomic uint32_t us_per_mib; // how long a waiter for a flag waits, where that is long
    struct block *owed, **owed_end;
    _Atomic unsigned int owed_count; // read without lock
    _Atomic uint32_t fences[FENCE_FLAGS];
    struct block blocks[];
};

int staging_start(struct session *session)
{
    const struct link_staging *shared = session->staging;
    if (shared->block_count == 0 || shared->block_count > LINK_FLAGS - FENCE_FLAGS)
        return -1;
    struct staging *staging =
        calloc(1, sizeof(*staging) + shared->block_count * sizeof(staging->blocks[0]));
    if (!staging)
        return -1;
    pthread_mutex_init(&staging->lock, NULL);
    staging->count = shared->block_count;
    staging->size = shared->block_size;
    staging->owed_end = &staging->owed;
    session->blocks = staging;
    return 0;
}

static uint32_t block_index(const struct staging *staging, const struct block *block)
{
    return (uint32_t)(block - staging->blocks);
}

static void *block_memory(const struct session *session, const struct block *block)
{
    const struct link_staging *shared = session->staging;
    return (uint8_t *)shared->base + shared->blocks_offset +
           (uint64_t)block_index(session->blocks, block) * shared->block_size;
}

static uint64_t block_name(const struct session *session, const struct block *block)
{
    const struct link_staging *shared = session->staging;
    return WIRE_HOST(WIRE_REGION_STAGING,
                     shared->blocks_offset +
                         (uint64_t)block_index(session->blocks, block) * shared->block_size);
}

static bool flag_reached(const struct session *session, uint32_t index, uint32_t value)
{
    uint32_t now = atomic_load_explicit((_Atomic uint32_t *)&session->staging->flags[index],
                                        memory_order_acquire);
    return (int32_t)(now - value) >= 0;
}

static bool block_done(const struct session *session, const struct block *block)
{
    return flag_reached(session, block_index(session->blocks, block), block->use);
}

// Where the box writes the flags over a network nothing wakes a waiter, and to ask the box would be to
// wait for all that the stream has been given, with nothing on its way meanwhile. So this sleeps for
// most of the time that SIZE bytes usually take, and then looks often. False: it takes far longer.
static bool doze_for_flag(struct session *session, uint32_t index, uint32_t value, uint32_t size)
{
    _Atomic uint32_t *us_per_mib = &session->blocks->us_per_mib;
    uint64_t usual = atomic_load(us_per_mib), expected = usual * size >> 20, waited = 0;
    uint64_t began = clock_us(), sleep = expected * 7 / 8;
    unsigned int sleeps = 0;
    link_flush(session->link);
    while (!flag_reached(session, index, value)) {
        if (waited > 8 * expected + DOZE_LIMIT_US)
            return false;
        if (sleep < DOZE_MIN_US)
            sleep = DOZE_MIN_US;
        if (sleep > DOZE_LONGEST_US)
            sleep = DOZE_LONGEST_US;
        struct timespec pause = {.tv_nsec = (long)sleep * 1000};
        nanosleep(&pause, NULL);
        sleeps++;
        waited = clock_us() - began;
        sleep = waited / 8;
    }
    // A single sleep that was too long tells nothing of how much shorter the wait was.
    uint64_t took = sleeps > 1 ? waited : waited / 2;
    usual = (3 * usual + (took << 20) / size) / 4;
    atomic_store(us_per_mib, usual < DOZE_MAX_US ? (uint32_t)usual : DOZE_MAX_US);
    return true;
}

// Spins for the time that the link's receiver would; then asks the box, which may take as long as
// the GPU does and which brings the error where there is one. SIZE: of the block that the flag is for;
// 0: the caller waits for all that is before.
static CUresult wait_flag(struct session *session, uint32_t index, uint32_t value, uint32_t size,
                          CUstream stream)
{
    uint64_t until = 0;
    for (unsigned int spins = 0; !flag_reached(session, index, value); spins++) {
        __builtin_ia32_pause();
        if (spins % 64 != 63)
            continue;
        uint64_t now = clock_us();
        if (!until)
            until = now + session->spin_us;
        if (now < until)
            continue;
        if (session->reached && size && doze_for_flag(session, index, value, size))
            return CUDA_SUCCESS;
        CUresult result = remote_cuStreamSynchronize(stream);
        if (result == CUDA_ERROR_INVALID_HANDLE) // destroyed meanwhile; its work goes on
            result = remote_cuCtxSynchronize();
        if (result != CUDA_SUCCESS)
            return result;
        // The stream has come past the signal. Only a failed request leaves the flag unset, and
        // its error has then been reported.
        return flag_reached(session, index, value) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    }
    return CUDA_SUCCESS;
}

CUresult copy_fence(struct session *session, CUstream stream)
{
    if (!session->staging)
        return remote_cuStreamSynchronize(stream);
    static _Atomic uint32_t next_fence;
    static __thread uint32_t mine;
    if (!mine)
        mine = atomic_fetch_add(&next_fence, 1) % FENCE_FLAGS + 1;
    uint32_t index = LINK_FLAGS - mine;
    uint32_t value = atomic_fetch_add(&session->blocks->fences[mine - 1], 1) + 1;
    CUresult result = remote_signal(index, value, stream);
    if (result == CUDA_SUCCESS) {
        link_flush(session->link);
        result = wait_flag(session, index, value, 0, stream);
    }
    if (result == CUDA_SUCCESS)
        copyout_deliver(session);
    return result;
}

// Moves the data of an owed block to where it belongs. The staging lock is held.
static void settle(struct session *session, struct block *block)
{
    memcpy(block->owed_to, block_memory(session, block), block->size);
    block->state = BLOCK_FREE;
}

bool copyout_owed(const struct session *session)
{
    return session->blocks &&
           atomic_load_explicit(&session->blocks->owed_count, memory_order_relaxed);
}

void copyout_deliver(struct session *session)
{
    struct staging *staging = session->blocks;
    if (!copyout_owed(session))
        return;
    pthread_mutex_lock(&staging->lock);
    struct block **at = &staging->owed;
    while (*at) {
        struct block *block = *at;
        if (block_done(session, block)) {
            *at = block->next;
            staging->owed_count--;
            settle(session, block);
        } else {
            at = &block->next;
        }
    }
    staging->owed_end = at;
    pthread_mutex_unlock(&staging->lock);
}

// A block for the caller to use; NULL with *RESULT where its wait failed. With TRY, NULL also
// where it would have to wait.
static struct block *block_take(struct session *session, bool try, CUresult *result)
{
    struct staging *staging = session->blocks;
    *result = CUDA_SUCCESS;
    for (;;) {
        struct block *oldest = NULL;
        pthread_mutex_lock(&staging->lock);
        for (uint32_t i = 0; i < staging->count; i++) {
            struct block *block = &staging->blocks[(staging->next + i) % staging->count];
            if (block->state == BLOCK_SENT && block_done(session, block))
                block->state = BLOCK_FREE;
            if (block->state == BLOCK_FREE) {
                block->state = BLOCK_FILLING;
                staging->next = block_index(staging, block) + 1;
                pthread_mutex_unlock(&staging->lock);
                return block;
            }
            if (!oldest && block->state != BLOCK_FILLING)
                oldest = block;
        }
        struct block waited = oldest ? *oldest : (struct block){0};
        uint32_t index = oldest ? block_index(staging, oldest) : 0;
        pthread_mutex_unlock(&staging->lock);
        if (try)
            return NULL;
        if (oldest) {
            *result = wait_flag(session, index, waited.use, waited.size, waited.stream);
            if (*result != CUDA_SUCCESS)
                return NULL;
            copyout_deliver(session);
        } else {
            sched_yield(); // other threads are filling all blocks at this moment
        }
    }
}

static void block_set(struct session *session, struct block *block, int state)
{
    pthread_mutex_lock(&session->blocks->lock);
    block->state = state;
    pthread_mutex_unlock(&session->blocks->lock);
}

// Has the GPU raise the block's flag when the stream has come this far.
static CUresult block_signal(struct session *session, struct block *block, size_t size,
                             CUstream stream)
{
    block->use++;
    block->size = (uint32_t)size;
    block->stream = stream;
    return remote_signal(block_index(session->blocks, block), block->use, stream);
}

// A failed request leaves the block unused: its flag is set by hand.
static void block_abandon(struct session *session, struct block *block)
{
    session->staging->flags[block_index(session->blocks, block)] = block->use;
    block_set(session, block, BLOCK_FREE);
}

struct staged_copy {
    struct session *session;
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

static void chunks_to_device(void *opaque)
{
    struct staged_copy *copy = opaque;
    struct session *session = copy->session;
    size_t offset, size;
    while (next_chunk(copy, &offset, &size)) {
        CUresult result;
        struct block *block = block_take(session, false, &result);
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
    struct block *block;
    size_t offset;
    size_t size;
};

// Asks for the next chunk. False: there is none, or no block without waiting (TRY).
static bool request_chunk(struct staged_copy *copy, bool try, struct arrival *arrival)
{
    struct session *session = copy->session;
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

static void chunks_from_device(void *opaque)
{
    struct staged_copy *copy = opaque;
    struct session *session = copy->session;
    struct arrival arrivals[IN_FLIGHT];
    unsigned int first = 0, count = 0;
    for (;;) {
        while (count < IN_FLIGHT &&
               request_chunk(copy, count > 0, &arrivals[(first + count) % IN_FLIGHT]))
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
        first = (first + 1) % IN_FLIGHT;
        count--;
    }
}

// Small enough for several chunks to be on their way at once, large enough to be worth a request.
static size_t chunk_size(const struct session *session, size_t size)
{
    size_t block = session->staging->block_size;
    size_t least = session->reached ? REACHED_CHUNK_MIN : CHUNK_MIN;
    size_t chunk = (size / 8 + CHUNK_MIN - 1) & ~(size_t)(CHUNK_MIN - 1);
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

CUresult staged_to_device(struct session *session, CUdeviceptr dst, const void *src, size_t size,
                          CUstream stream)
{
    struct staged_copy copy = {.session = session, .device = dst, .host = (uint8_t *)src,
                               .size = size, .stream = stream};
    run(&copy, chunks_to_device);
    return (CUresult)copy.result;
}

// The data goes to its place when a later call learns that it has come.
static CUresult owe(struct staged_copy *copy)
{
    struct session *session = copy->session;
    struct staging *staging = session->blocks;
    struct arrival arrival;
    copy->chunk = session->staging->block_size;
    while (request_chunk(copy, false, &arrival)) {
        pthread_mutex_lock(&staging->lock);
        struct block *block = arrival.block;
        block->owed_to = copy->host + arrival.offset;
        block->next = NULL;
        block->state = BLOCK_OWED;
        *staging->owed_end = block;
        staging->owed_end = &block->next;
        staging->owed_count++;
        pthread_mutex_unlock(&staging->lock);
    }
    return (CUresult)copy->result;
}

CUresult staged_from_device(struct session *session, void *dst, CUdeviceptr src, size_t size,
                            CUstream stream, bool wait)
{
    struct staged_copy copy = {.session = session, .device = src, .host = dst, .size = size,
                               .stream = stream};
    if (!wait)
        return owe(&copy);
    run(&copy, chunks_from_device);
    return (CUresult)copy.result;
}

// ---- rows ----

struct box_cursor {
    const struct staged_rows *rows;
    size_t plane, row; // where the next chunk begins
};

// A chunk is whole planes where they fit a block, else rows of one plane.
struct box_chunk {
    struct block *block;
    size_t plane, row, planes, count; // COUNT rows of each of PLANES planes
};

static bool next_rows(const struct session *session, struct box_cursor *cursor,
                      struct box_chunk *chunk)
{
    const struct staged_rows *rows = cursor->rows;
    size_t fit = session->staging->block_size / rows->width;
    if (cursor->plane == rows->depth)
        return false;
    size_t planes = fit / rows->height, left = rows->depth - cursor->plane;
    chunk->plane = cursor->plane;
    chunk->row = cursor->row;
    chunk->planes = !planes ? 1 : planes < left ? planes : left;
    left = rows->height - cursor->row;
    chunk->count = fit < left ? fit : left;
    cursor->row += chunk->count;
    if (cursor->row == rows->height) {
        cursor->row = 0;
        cursor->plane += chunk->planes;
    }
    return true;
}

// Between the program's memory and the chunk's block.
static void move_rows(const struct session *session, const struct staged_rows *rows,
                      const struct box_chunk *chunk)
{
    uint8_t *packed = block_memory(session, chunk->block);
    for (size_t plane = 0; plane < chunk->planes; plane++)
        for (size_t row = 0; row < chunk->count; row++, packed += rows->width) {
            uint8_t *host = rows->host + (chunk->plane + plane) * rows->host_slice +
                            (chunk->row + row) * rows->host_pitch;
            memcpy(rows->to_device ? packed : host, rows->to_device ? host : packed, rows->width);
        }
}

// Asks for the chunk's copy, and for the flag behind it.
static CUresult ask_for_rows(struct session *session, const struct staged_rows *rows,
                             const struct box_chunk *chunk, CUstream stream)
{
    void *packed = (void *)(uintptr_t)block_name(session, chunk->block);
    CUdeviceptr device = rows->device + chunk->plane * rows->device_slice +
                         chunk->row * rows->device_pitch;
    size_t height = chunk->planes > 1 ? rows->device_slice / rows->device_pitch : chunk->count;
    size_t bytes = rows->width * chunk->count * chunk->planes;
    CUDA_MEMCPY3D copy = {.WidthInBytes = rows->width, .Height = chunk->count,
                          .Depth = chunk->planes};
    if (rows->to_device) {
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = packed;
        copy.srcPitch = rows->width;
        copy.srcHeight = chunk->count;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = device;
        copy.dstPitch = rows->device_pitch;
        copy.dstHeight = height;
    } else {
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = device;
        copy.srcPitch = rows->device_pitch;
        copy.srcHeight = height;
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = packed;
        copy.dstPitch = rows->width;
        copy.dstHeight = chunk->count;
    }
    CUresult result = remote_copy_3d(&copy, stream);
    return result == CUDA_SUCCESS ? block_signal(session, chunk->block, bytes, stream) : result;
}

static CUresult box_to_device(struct session *session, const struct staged_rows *rows,
                              CUstream stream)
{
    struct box_cursor cursor = {.rows = rows};
    struct box_chunk chunk;
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS && next_rows(session, &cursor, &chunk)) {
        chunk.block = block_take(session, false, &result);
        if (!chunk.block)
            return result;
        move_rows(session, rows, &chunk);
        result = ask_for_rows(session, rows, &chunk, stream);
        if (result == CUDA_SUCCESS)
            block_set(session, chunk.block, BLOCK_SENT);
        else
            block_abandon(session, chunk.block);
    }
    return result;
}

static CUresult box_from_device(struct session *session, const struct staged_rows *rows,
                                CUstream stream)
{
    struct box_cursor cursor = {.rows = rows};
    struct box_chunk chunks[IN_FLIGHT], *chunk;
    unsigned int first = 0, count = 0;
    CUresult result = CUDA_SUCCESS, taken = CUDA_SUCCESS;
    for (;;) {
        while (result == CUDA_SUCCESS && count < IN_FLIGHT) {
            struct box_cursor before = cursor;
            chunk = &chunks[(first + count) % IN_FLIGHT];
            if (!next_rows(session, &cursor, chunk))
                break;
            chunk->block = block_take(session, count > 0, &taken);
            if (!chunk->block) {
                cursor = before;
                if (!count)
                    result = taken;
                break;
            }
            result = ask_for_rows(session, rows, chunk, stream);
            if (result != CUDA_SUCCESS)
                block_abandon(session, chunk->block);
            else
                count++;
        }
        if (!count)
            return result;
        link_flush(session->link);
        chunk = &chunks[first];
        CUresult waited = wait_flag(session, block_index(session->blocks, chunk->block),
                                    chunk->block->use, chunk->block->size, stream);
        if (waited == CUDA_SUCCESS) {
            move_rows(session, rows, chunk);
            block_set(session, chunk->block, BLOCK_FREE);
        } else {
            block_abandon(session, chunk->block);
            result = result == CUDA_SUCCESS ? waited : result;
        }
        first = (first + 1) % IN_FLIGHT;
        count--;
    }
}

CUresult staged_box(struct session *session, const struct staged_rows *rows, CUstream stream)
{
    return rows->to_device ? box_to_device(session, rows, stream)
                           : box_from_device(session, rows, stream);
}
