// SPDX-License-Identifier: BSD-3-Clause
#include "worker/peer/peer_blocks.h"

#include <errno.h>
#include <sys/mman.h>

enum { BYTES = PEER_BLOCKS * WIRE_BLOCK_SIZE };

int peer_blocks_make(struct peer_blocks *blocks)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return -ENOMEM;
    *blocks = (struct peer_blocks){.memory = memory};
    for (unsigned i = 0; i < PEER_BLOCKS; i++) {
        blocks->all[i].data = blocks->memory + (size_t)i * WIRE_BLOCK_SIZE;
        blocks->all[i].incoming = i >= PEER_OUT_BLOCKS;
        peer_block_give(blocks, &blocks->all[i]);
    }
    return 0;
}

static struct peer_block **idle(struct peer_blocks *blocks, bool incoming)
{
    return incoming ? &blocks->idle_in : &blocks->idle_out;
}

struct peer_block *peer_block_take(struct peer_blocks *blocks, bool incoming)
{
    struct peer_block **first = idle(blocks, incoming), *block = *first;

    if (block) {
        *first = block->next;
        block->next = NULL;
    }
    return block;
}

void peer_block_give(struct peer_blocks *blocks, struct peer_block *block)
{
    struct peer_block **first = idle(blocks, block->incoming);

    block->next = *first;
    *first = block;
}

// Where it cannot be had, copies go on: the driver takes ordinary memory, too, and is slower.
void peer_blocks_register(struct peer_blocks *blocks, CUcontext context)
{
    if (!blocks->registered &&
        driver.cuMemHostRegister_v2(blocks->memory, BYTES, CU_MEMHOSTREGISTER_PORTABLE) ==
            CUDA_SUCCESS)
        blocks->registered = context;
}

static CUresult make_event(struct peer_block *block, CUcontext context)
{
    if (block->context == context)
        return CUDA_SUCCESS;
    if (block->context)
        driver.cuEventDestroy_v2(block->event);
    CUresult result = driver.cuEventCreate(&block->event, CU_EVENT_DISABLE_TIMING);
    block->context = result == CUDA_SUCCESS ? context : NULL;
    return result;
}

CUresult peer_block_mark(struct peer_block *block, CUcontext context, CUstream stream)
{
    CUresult result = make_event(block, context);

    return result == CUDA_SUCCESS ? driver.cuEventRecord(block->event, stream) : result;
}

CUresult peer_block_ask(const struct peer_block *block)
{
    return block->context ? driver.cuEventQuery(block->event) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void peer_blocks_forget(struct peer_blocks *blocks, CUcontext context)
{
    for (unsigned i = 0; i < PEER_BLOCKS; i++) {
        struct peer_block *block = &blocks->all[i];
        if (block->context != context)
            continue;
        block->context = NULL;
        driver.cuEventDestroy_v2(block->event);
    }
    if (blocks->registered != context)
        return;
    driver.cuMemHostUnregister(blocks->memory);
    blocks->registered = NULL;
}
