// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/managed_slabs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/managed/managed_block.h"
#include "client-lib/cuda/managed/mirror.h"
#include "client-lib/cuda/memory/device_memory.h"
#include "client-lib/cuda/objects/thread.h"
#include "common/base/scope.h"

enum { SLAB_BYTES = 2 * 1024 * 1024, GRAIN = 512, GRAINS = SLAB_BYTES / GRAIN };

struct slab {
    struct allocation block;
    size_t used;           // grains
    size_t next;           // start of the search for the next piece
    uint8_t taken[GRAINS]; // one flag per grain
    struct slab *following;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slab *slabs;

static size_t grains_of(size_t size)
{
    return (size + GRAIN - 1) / GRAIN;
}

// Returns the first of COUNT consecutive free grains in [FIRST, END), or GRAINS if there are none.
static size_t find_grains(const struct slab *slab, size_t first, size_t end, size_t count)
{
    size_t length = 0;
    for (size_t at = first; at < end; at++) {
        length = slab->taken[at] ? 0 : length + 1;
        if (length == count)
            return at + 1 - count;
    }
    return GRAINS;
}

static bool take_grains(struct slab *slab, size_t count, size_t *first)
{
    if (slab->used + count > GRAINS)
        return false;
    *first = find_grains(slab, slab->next, GRAINS, count);
    if (*first == GRAINS)
        *first = find_grains(slab, 0, GRAINS, count);
    if (*first == GRAINS)
        return false;
    memset(slab->taken + *first, 1, count);
    slab->used += count;
    slab->next = (*first + count) % GRAINS;
    return true;
}

// Frees slabs whose context, and therefore memory, is gone.
static void forget_gone(void)
{
    for (struct slab **at = &slabs; *at;) {
        struct slab *slab = *at;
        if (mirror_knows(slab->block.base)) {
            at = &slab->following;
            continue;
        }
        *at = slab->following;
        free(slab);
    }
}

static CUresult managed_slabs_make_slab(void)
{
    struct slab *slab = calloc(1, sizeof(*slab));
    if (!slab)
        return CUDA_ERROR_OUT_OF_MEMORY;
    forget_gone(); // before a new block can have the same address
    CUresult result = managed_block_make(SLAB_BYTES, &slab->block);
    if (result != CUDA_SUCCESS) {
        free(slab);
        return result;
    }
    slab->following = slabs;
    slabs = slab;
    return CUDA_SUCCESS;
}

static bool managed_slabs_take_of_any(size_t size, uint64_t context, struct allocation *piece)
{
    size_t first;
    for (struct slab *slab = slabs; slab; slab = slab->following) {
        if (slab->block.context != context || !mirror_knows(slab->block.base) ||
            !take_grains(slab, grains_of(size), &first))
            continue;
        *piece = slab->block;
        piece->base += first * GRAIN;
        piece->size = size;
        piece->whole = 0;
        return true;
    }
    return false;
}

CUresult slab_take(size_t size, struct allocation *piece)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    if (managed_slabs_take_of_any(size, context->handle, piece))
        return CUDA_SUCCESS;
    result = managed_slabs_make_slab();
    if (result == CUDA_SUCCESS && !managed_slabs_take_of_any(size, context->handle, piece))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

void slab_give(const struct allocation *piece)
{
    SCOPED_LOCK(&lock);
    for (struct slab **at = &slabs; *at; at = &(*at)->following) {
        struct slab *slab = *at;
        if (piece->base - slab->block.base >= SLAB_BYTES)
            continue;
        size_t count = grains_of(piece->size);
        memset(slab->taken + (piece->base - slab->block.base) / GRAIN, 0, count);
        slab->used -= count;
        if (slab->used)
            return;
        *at = slab->following;
        (void)device_memory_give_pages(&slab->block);
        free(slab);
        return;
    }
}
