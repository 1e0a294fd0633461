// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/managed_block.h"

#include "client-lib/cuda/managed/coherence.h"
#include "client-lib/cuda/managed/mirror.h"
#include "client-lib/cuda/memory/device_memory.h"

CUresult managed_block_make(size_t size, struct allocation *block)
{
    CUresult result = device_memory_take_pages(size, block);
    if (result != CUDA_SUCCESS)
        return result;
    struct mirror_place place = {.base = block->base,
                                 .size = (size + MIRROR_PAGE - 1) & ~(size_t)(MIRROR_PAGE - 1),
                                 .session = block->session,
                                 .context = block->context,
                                 .fresh = true};
    coherence_begin();
    result = mirror_renew(block->base) ? CUDA_SUCCESS : mirror_add(&place);
    if (result != CUDA_SUCCESS)
        (void)device_memory_give_pages(block);
    return result;
}
