// SPDX-License-Identifier: BSD-3-Clause
// Occupancy. The box's answers about a function are kept, since programs ask before each launch.
#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "client-lib/cuda/work/known_answers.h"
#include "client_calls.h"

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags)
{
    struct known_question question = {KNOWN_BLOCKS, .first = (uint64_t)blockSize,
                                      .second = dynamicSMemSize, .third = flags};
    struct object *function = numBlocks ? known_function(func, &question.device) : NULL;
    uint64_t answer, asked;
    if (function && known_find(function, &question, &answer, &asked)) {
        *numBlocks = (int)answer;
        return CUDA_SUCCESS;
    }
    CUresult result =
        remote_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                    dynamicSMemSize, flags);
    if (function && result == CUDA_SUCCESS)
        known_learn(function, &question, (uint64_t)*numBlocks, asked);
    return result;
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                 int numBlocks, int blockSize)
{
    struct known_question question = {KNOWN_SHARED_MEMORY, .first = (uint64_t)numBlocks,
                                      .second = (uint64_t)blockSize};
    struct object *function = dynamicSmemSize ? known_function(func, &question.device) : NULL;
    uint64_t answer, asked;
    if (function && known_find(function, &question, &answer, &asked)) {
        *dynamicSmemSize = answer;
        return CUDA_SUCCESS;
    }
    CUresult result =
        remote_cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, func, numBlocks, blockSize);
    if (function && result == CUDA_SUCCESS)
        known_learn(function, &question, *dynamicSmemSize, asked);
    return result;
}

// Finds the block size with the most resident threads per multiprocessor. Tries block sizes from
// the largest down, in steps of a warp.
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                   CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!minGridSize || !blockSize)
        return CUDA_ERROR_INVALID_VALUE;
    const int32_t *device = session_device(context->ctx.device)->attributes;
    int warp = device[CU_DEVICE_ATTRIBUTE_WARP_SIZE];
    int resident_max = device[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR];
    int limit;
    result = cuFuncGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, func);
    if (result != CUDA_SUCCESS)
        return result;
    if (blockSizeLimit > 0 && blockSizeLimit < limit)
        limit = blockSizeLimit;

    int best = 0, best_blocks = 0, best_size = 0;
    for (int tried = (limit + warp - 1) / warp * warp; tried > 0 && best < resident_max;
         tried -= warp) {
        int size = tried < limit ? tried : limit;
        int blocks = 0;
        size_t shared = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(size)
                                                   : dynamicSMemSize;
        result = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, func, size, shared,
                                                                      flags);
        if (result != CUDA_SUCCESS)
            return result;
        if (blocks * size > best) {
            best = blocks * size;
            best_blocks = blocks;
            best_size = size;
        }
    }
    *blockSize = best_size;
    *minGridSize = best_blocks * device[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
    return CUDA_SUCCESS;
}

CUresult occupancy_of_clusters(int *answer, CUfunction func, const CUlaunchConfig *c,
                               bool want_size)
{
    struct wire_launch_attribute attributes[WIRE_LAUNCH_ATTRIBUTES_MAX];
    if (!answer || !c || c->numAttrs > WIRE_LAUNCH_ATTRIBUTES_MAX || (c->numAttrs && !c->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < c->numAttrs; i++)
        attributes[i] =
            (struct wire_launch_attribute){(int32_t)c->attrs[i].id, 0, c->attrs[i].value};
    return remote_cluster_occupancy(func, want_size, c->gridDimX, c->gridDimY, c->gridDimZ,
                                    c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes,
                                    c->hStream, c->numAttrs, attributes,
                                    c->numAttrs * sizeof(attributes[0]), answer);
}
