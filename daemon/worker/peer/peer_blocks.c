// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_blocks.h"

#include <errno.h>
#include <sys/mman.h>

enum { HALF = PEER_IN_BLOCKS * WIRE_BLOCK_SIZE, OWN = HALF + PEER_OUT_BLOCKS * WIRE_BLOCK_SIZE };

static void lay_out(struct peer_blocks *blocks, uint8_t *in, uint8_t *out, unsigned out_count)
{
    for (unsigned i = 0; i < PEER_IN_BLOCKS; i++)
        blocks->in[i] = (struct peer_block){
            .data = in + (size_t)i * WIRE_BLOCK_SIZE, .incoming = true, .idle = true, .slot = i};
    blocks->idle_out = NULL;
    for (unsigned i = out_count; i-- > 0;) {
        blocks->out[i] = (struct peer_block){.data = out + (size_t)i * WIRE_BLOCK_SIZE, .slot = i};
        peer_block_give(blocks, &blocks->out[i]);
    }
}

int peer_blocks_make(struct peer_blocks *blocks)
{
    uint8_t *memory = mmap(NULL, OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return -ENOMEM;
    *blocks = (struct peer_blocks){.memory = memory, .size = OWN};
    lay_out(blocks, memory, memory + HALF, PEER_OUT_BLOCKS);
    return 0;
}

void peer_blocks_share(struct peer_blocks *blocks, void *memory, bool first)
{
    uint8_t *one = memory, *other = one + HALF;

    munmap(blocks->memory, blocks->size);
    *blocks = (struct peer_blocks){.memory = memory, .size = 2 * HALF, .shared = true};
    lay_out(blocks, first ? one : other, first ? other : one, PEER_IN_BLOCKS);
}

void peer_blocks_free(struct peer_blocks *blocks)
{
    if (!blocks->shared)
        munmap(blocks->memory, blocks->size);
}

struct peer_block *peer_block_take(struct peer_blocks *blocks)
{
    struct peer_block *block = blocks->idle_out;

    if (block) {
        blocks->idle_out = block->next;
        block->next = NULL;
        block->source = NULL;
        block->idle = false;
    }
    return block;
}

struct peer_block *peer_block_take_slot(struct peer_blocks *blocks, uint32_t slot)
{
    if (slot >= PEER_IN_BLOCKS || !blocks->in[slot].idle)
        return NULL;
    blocks->in[slot].idle = false;
    return &blocks->in[slot];
}

struct peer_block *peer_block_take_any(struct peer_blocks *blocks)
{
    struct peer_block *block = NULL;

    for (uint32_t slot = 0; slot < PEER_IN_BLOCKS && !block; slot++)
        block = peer_block_take_slot(blocks, slot);
    return block;
}

void peer_block_give(struct peer_blocks *blocks, struct peer_block *block)
{
    block->idle = true;
    if (block->incoming)
        return;
    block->next = blocks->idle_out;
    blocks->idle_out = block;
}

// Copies go on if the registration fails: the driver accepts ordinary memory, too, and is slower.
void peer_blocks_register(struct peer_blocks *blocks, CUcontext context)
{
    if (!blocks->registered &&
        driver.cuMemHostRegister_v2(blocks->memory, blocks->size, CU_MEMHOSTREGISTER_PORTABLE) ==
            CUDA_SUCCESS)
        blocks->registered = context;
}

CUresult peer_block_record(struct peer_block *block, CUcontext context, CUstream stream)
{
    return completion_record(&block->completion, context, stream);
}

CUresult peer_block_ask(const struct peer_block *block)
{
    return completion_query(&block->completion);
}

CUresult peer_blocks_warm(struct peer_blocks *blocks, CUcontext context)
{
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < PEER_IN_BLOCKS && result == CUDA_SUCCESS; i++) {
        result = completion_create(&blocks->in[i].completion, context);
        if (result == CUDA_SUCCESS && blocks->out[i].data)
            result = completion_create(&blocks->out[i].completion, context);
    }
    return result;
}

void peer_blocks_forget(struct peer_blocks *blocks, CUcontext context)
{
    for (unsigned i = 0; i < PEER_IN_BLOCKS; i++) {
        completion_forget(&blocks->in[i].completion, context);
        completion_forget(&blocks->out[i].completion, context);
    }
    if (blocks->registered != context)
        return;
    driver.cuMemHostUnregister(blocks->memory);
    blocks->registered = NULL;
}
