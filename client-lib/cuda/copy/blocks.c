// SPDX-License-Identifier: BSD-3-Clause
// Staging blocks in use.
#include "client-lib/cuda/copy/blocks.h"

#include <sched.h>

#include "client-lib/cuda/copy/flags.h"
#include "client_calls.h"

struct staging_block *block_take(struct box_session *session, bool try, CUresult *result)
{
    *result = CUDA_SUCCESS;
    for (;;) {
        struct staging_block awaited = {0};
        int index;
        struct staging_block *block = block_find_free(session, &awaited, &index);
        if (block || try)
            return block;
        if (index < 0) {
            sched_yield(); // pause until another thread has filled its block
            continue;
        }
        *result = wait_flag(session, (uint32_t)index, awaited.use, awaited.size, awaited.stream);
        if (*result != CUDA_SUCCESS)
            return NULL;
        staging_deliver(session);
    }
}

CUresult block_signal(struct box_session *session, struct staging_block *block, size_t size,
                      CUstream stream)
{
    block->use++;
    block->size = (uint32_t)size;
    block->stream = stream;
    return remote_signal(block_index(session->blocks, block), block->use, stream);
}
