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

CUresult peer_block_mark(struct peer_block *block, CUcontext context, CUstream stream)
{
    return mark_set(&block->mark, context, stream);
}

CUresult peer_block_ask(const struct peer_block *block)
{
    return mark_ask(&block->mark);
}

void peer_blocks_forget(struct peer_blocks *blocks, CUcontext context)
{
    for (unsigned i = 0; i < PEER_BLOCKS; i++)
        mark_forget(&blocks->all[i].mark, context);
    if (blocks->registered != context)
        return;
    driver.cuMemHostUnregister(blocks->memory);
    blocks->registered = NULL;
}
