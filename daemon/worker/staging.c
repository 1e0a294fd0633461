// The staging blocks of region 0, divided between pushes and pulls so that neither can starve the
// other, and the events that tell when the GPU is done with one.
#include "daemon/worker/staging.h"

#include <time.h>

enum { BACKOFF_SLEEP_MIN_US = 20, BACKOFF_SLEEP_MAX_US = 1000, WRITE_SHARE = 16 };

static struct block blocks[STAGING_BLOCKS_MAX];
static struct block *idle[STAGING_USES];
static uint32_t first_pull, first_write; // blocks are for pushes, then pulls, then writes
static uint32_t block_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;

static enum staging_use use_of(const struct block *block)
{
    uint32_t index = (uint32_t)(block - blocks);

    return index < first_pull ? STAGING_PUSH : index < first_write ? STAGING_PULL : STAGING_WRITE;
}

static void add(uint8_t *data)
{
    blocks[block_count].data = data;
    staging_give(&blocks[block_count++]);
}

// A quarter of the blocks is for pulls, a sixteenth, cut small, for writes.
void staging_prepare(void)
{
    const struct link_staging *staging = pinned.staging;
    uint32_t whole = staging->block_count;
    uint8_t *data = (uint8_t *)staging->base + staging->blocks_offset;

    if (whole > STAGING_BLOCKS_MAX / 2)
        whole = STAGING_BLOCKS_MAX / 2;
    first_write = whole - whole / WRITE_SHARE;
    first_pull = first_write - (whole > 8 ? whole / 4 : 1);
    for (uint32_t i = 0; i < first_write; i++)
        add(data + (size_t)i * staging->block_size);
    for (size_t at = (size_t)first_write * staging->block_size;
         block_count < STAGING_BLOCKS_MAX &&
         at + WIRE_INLINE_MAX <= (size_t)whole * staging->block_size;
         at += WIRE_INLINE_MAX)
        add(data + at);
}

uint32_t staging_push_blocks(void)
{
    return first_pull;
}

uint32_t staging_block_size(void)
{
    return pinned.staging->block_size;
}

struct block *staging_take(enum staging_use use, bool wait)
{
    pthread_mutex_lock(&lock);
    while (!idle[use] && wait)
        pthread_cond_wait(&given, &lock);
    struct block *block = idle[use];
    if (block)
        idle[use] = block->next;
    pthread_mutex_unlock(&lock);
    return block;
}

struct block *staging_take_spare(enum staging_use use, unsigned keep)
{
    unsigned left = 0;

    pthread_mutex_lock(&lock);
    struct block *block = idle[use];
    for (const struct block *one = block; one && left <= keep; one = one->next)
        left++;
    if (left <= keep)
        block = NULL;
    if (block)
        idle[use] = block->next;
    pthread_mutex_unlock(&lock);
    return block;
}

void staging_give(struct block *block)
{
    pthread_mutex_lock(&lock);
    block->next = idle[use_of(block)];
    idle[use_of(block)] = block;
    pthread_cond_broadcast(&given);
    pthread_mutex_unlock(&lock);
}

CUresult staging_mark(struct block *block, CUcontext context, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    if (block->context != context) {
        if (block->context)
            driver.cuEventDestroy_v2(block->event);
        block->context = NULL;
        result = driver.cuEventCreate(&block->event, CU_EVENT_DISABLE_TIMING);
        if (result != CUDA_SUCCESS)
            return result;
        block->context = context;
    }
    return driver.cuEventRecord(block->event, stream);
}

bool staging_done(struct block *block, CUresult *result)
{
    // The event went with its context.
    *result = block->context ? driver.cuEventQuery(block->event) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return *result != CUDA_ERROR_NOT_READY;
}

void staging_forget_events(CUcontext context)
{
    for (uint32_t i = 0; i < block_count; i++) {
        if (blocks[i].context != context)
            continue;
        blocks[i].context = NULL;
        driver.cuEventDestroy_v2(blocks[i].event);
    }
}

uint64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint32_t backoff_next(struct backoff *backoff)
{
    uint64_t now = clock_us();

    if (!backoff->since_us)
        backoff->since_us = now;
    uint64_t waited = now - backoff->since_us;
    if (waited < session.spin_us)
        return 0;
    // A quarter of the time waited so far: never much later than needed, and cheap in a long wait.
    uint64_t sleep = waited / 4;
    if (sleep < BACKOFF_SLEEP_MIN_US)
        sleep = BACKOFF_SLEEP_MIN_US;
    return sleep < BACKOFF_SLEEP_MAX_US ? (uint32_t)sleep : BACKOFF_SLEEP_MAX_US;
}

CUresult own_stream_create(CUstream *out)
{
    int least = 0, greatest = 0;
    CUresult result = driver.cuCtxGetStreamPriorityRange(&least, &greatest);

    if (result != CUDA_SUCCESS)
        return result;
    return driver.cuStreamCreateWithPriority(out, CU_STREAM_NON_BLOCKING, greatest);
}
