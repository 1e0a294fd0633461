// SPDX-License-Identifier: BSD-3-Clause
// Region 0 is divided among pushes, pulls and small copies, so that none can starve the others.
#include "daemon/worker/copy/parts/staging.h"

#include <pthread.h>

#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"

enum {
    SMALL_SHARE = 16,
    BLOCKS_LEAST = 3, // of each direction over a link that reaches memory, with block_size = auto,
    SIZE_MIN = 64 << 10, // unless they were shorter than this
};

// The memory that serves one use, cut into blocks of one size.
struct block_pool {
    uint8_t *data;
    size_t size;
    uint32_t block_size;
    uint32_t count, used; // blocks: in all, and taken
    struct block *idle;
    struct block blocks[STAGING_POOL_MAX];
};

static struct block_pool pools[STAGING_USES]; // under lock
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER; // of all blocks

// Blocks that were there before keep their events.
static void carve(enum staging_use use, uint32_t block_size)
{
    struct block_pool *pool = &pools[use];
    size_t count = pool->size / block_size;

    if (count > STAGING_POOL_MAX)
        count = STAGING_POOL_MAX;
    if (count > 1 && !setup.worker.pipeline && use != STAGING_SMALL)
        count = 1;
    pool->block_size = block_size;
    pool->count = (uint32_t)count;
    pool->idle = NULL;
    for (uint32_t i = pool->count; i-- > 0;) {
        struct block *block = &pool->blocks[i];
        block->use = use;
        block->data = pool->data + (size_t)i * block_size;
        block->next = pool->idle;
        pool->idle = block;
    }
}

static void add_pool(enum staging_use use, uint8_t **data, size_t size, uint32_t block_size)
{
    pools[use].data = *data;
    pools[use].size = size;
    *data += size;
    carve(use, block_size);
}

static void forget_events(CUcontext context)
{
    SCOPED_LOCK(&events_lock);
    for (int use = 0; use < STAGING_USES; use++)
        for (uint32_t i = 0; i < STAGING_POOL_MAX; i++) {
            struct block *block = &pools[use].blocks[i];
            completion_forget(&block->completion, context);
        }
}

void staging_prepare_reached(void)
{
    const struct link_staging *staging = pinned.staging;
    uint8_t *data = (uint8_t *)staging->base + staging->blocks_offset;
    uint32_t size = staging->block_size;
    size_t whole = (size_t)size * staging->block_count, unit = WIRE_INLINE_MAX;
    size_t small = whole / SMALL_SHARE / unit ? whole / SMALL_SHARE / unit * unit : unit;
    size_t half = (whole - small) / 2 / unit * unit;

    context_watch(forget_events);
    if (setup_block_size_is_auto())
        for (size = WIRE_BLOCK_SIZE; size > SIZE_MIN && size * BLOCKS_LEAST > half;)
            size /= 2;
    if (size > half)
        size = (uint32_t)half;
    add_pool(STAGING_PUSH, &data, half, size);
    add_pool(STAGING_PULL, &data, half, size);
    add_pool(STAGING_SMALL, &data, small, WIRE_INLINE_MAX);
}

void staging_prepare_streamed(void)
{
    const struct link_staging *staging = pinned.staging;
    uint8_t *data = (uint8_t *)staging->base + staging->blocks_offset;
    uint32_t size = staging->block_size;
    uint32_t whole = (uint32_t)((uint64_t)size * staging->block_count / WIRE_BLOCK_SIZE);

    context_watch(forget_events);
    if (size < WIRE_BLOCK_SIZE && whole >= 2)
        size = WIRE_BLOCK_SIZE;
    else
        whole = staging->block_count;
    uint32_t small = whole / SMALL_SHARE, pull = whole > 8 ? whole / 4 : 1;
    add_pool(STAGING_PUSH, &data, (size_t)(whole - small - pull) * size, size);
    add_pool(STAGING_PULL, &data, (size_t)pull * size, size);
    add_pool(STAGING_SMALL, &data, (size_t)small * size, WIRE_INLINE_MAX);
}

uint32_t staging_blocks(enum staging_use use)
{
    return pools[use].count;
}

uint32_t staging_block_size(enum staging_use use)
{
    return pools[use].block_size;
}

static struct block *take(struct block_pool *pool)
{
    struct block *block = pool->idle;

    if (block) {
        pool->idle = block->next;
        pool->used++;
    }
    return block;
}

struct block *staging_take(enum staging_use use, bool wait)
{
    SCOPED_LOCK(&lock);
    while (!pools[use].idle && wait)
        pthread_cond_wait(&given, &lock);
    struct block *block = take(&pools[use]);
    return block;
}

struct block *staging_take_spare(enum staging_use use, unsigned keep)
{
    struct block_pool *pool = &pools[use];

    SCOPED_LOCK(&lock);
    struct block *block = pool->count - pool->used > keep ? take(pool) : NULL;
    return block;
}

void staging_give(struct block *block)
{
    struct block_pool *pool = &pools[block->use];

    SCOPED_LOCK(&lock);
    block->next = pool->idle;
    pool->idle = block;
    pool->used--;
    pthread_cond_broadcast(&given);
}

CUresult staging_record(struct block *block, CUcontext context, CUstream stream)
{
    SCOPED_LOCK(&events_lock);
    return completion_record(&block->completion, context, stream);
}

bool staging_done(struct block *block, CUresult *result)
{
    SCOPED_LOCK(&events_lock);
    *result = completion_query(&block->completion);
    return *result != CUDA_ERROR_NOT_READY;
}
